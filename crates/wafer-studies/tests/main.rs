//! Studies and closed forms.

mod bound;
mod experiments;
mod reproduce;
mod theory;
