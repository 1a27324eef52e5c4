//! Viewers: server-sent events.
//!
//! The first event is `page`, the drive as a result record with its history; then each interval brings a `state`. A
//! viewer reads the latest text when its socket has room: it misses the states in between, and nothing queues up.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use tokio::sync::watch;

use crate::live::sampler::Sampler;

/// Maximum number of concurrent viewers.
pub(crate) const MOST_VIEWERS: usize = 64;

/// Counts a viewer as long as it exists.
struct Viewer(Arc<Sampler>);

impl Drop for Viewer {
    fn drop(&mut self) {
        self.0.viewers.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Viewer {
    fn new(sampler: &Arc<Sampler>) -> Option<Self> {
        let more = |viewers: usize| (viewers < MOST_VIEWERS).then_some(viewers + 1);
        let taken = sampler.viewers.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        taken.ok().map(|_| Viewer(sampler.clone()))
    }
}

pub(crate) async fn events(State(sampler): State<Arc<Sampler>>) -> Response {
    let Some(viewer) = Viewer::new(&sampler) else {
        return (StatusCode::SERVICE_UNAVAILABLE, "too many viewers\n").into_response();
    };
    let newest = sampler.newest.subscribe();
    let page = serde_json::to_string(&sampler.page()).unwrap_or_default();
    let first = Event::default().event("page").data(page);
    let states = stream::unfold((newest, viewer, Some(first)), next);
    Sse::new(states).keep_alive(KeepAlive::new().interval(Duration::from_secs(15))).into_response()
}

type Seat = (watch::Receiver<Arc<str>>, Viewer, Option<Event>);

async fn next((mut newest, viewer, first): Seat) -> Option<(Result<Event, Infallible>, Seat)> {
    if let Some(first) = first {
        newest.mark_unchanged();
        return Some((Ok(first), (newest, viewer, None)));
    }
    newest.changed().await.ok()?;
    let text = newest.borrow_and_update().clone();
    let event = Event::default().event("state").data(text);
    Some((Ok(event), (newest, viewer, None)))
}
