//! Studies and closed forms.

mod experiments;
mod reproduce;
mod theory;
