//! The HTTP server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{Html, IntoResponse, Json, Response};
use axum::routing::{get, post};
use rand::TryRngCore as _;
use wafer_record::{ReclaimUnits, Record, Timeline};

use crate::live::access::{Access, COOKIE, Refusal, query_token};
use crate::live::connections::{self, Limits};
use crate::live::sampler::{Sampler, State as Newest};
use crate::live::{LiveSource, metrics, stream};
use crate::report::Page;

/// Path of requests of operators.
const CONTROL: &str = "/ctl";
/// Longest request of an operator, bytes.
const MOST_CONTROL: usize = 16 << 10;

/// The configuration of a server.
#[derive(Clone, Debug)]
pub struct Config {
    /// Address to listen on.
    pub listen: SocketAddr,
    /// Token that requests must show. Without one, none is needed on a loopback address, and one is generated for
    /// other addresses.
    pub token: Option<String>,
    /// Token that requests of operators, `POST /ctl`, must show; without one, they are disabled.
    pub control: Option<String>,
    /// Time between states.
    pub interval: Duration,
    /// Connection limits.
    pub limits: Limits,
}

/// Why the server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// Listening on the address failed.
    #[error("{address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's reason.
        source: std::io::Error,
    },
    /// Threads, or random numbers for a token, are unavailable.
    #[error("cannot start: {0}")]
    Start(std::io::Error),
}

/// A running server. Dropping it stops it.
pub struct Server {
    /// The bound address, with the actual port if 0 was requested.
    pub address: SocketAddr,
    /// The URL for a browser, with the token if one is required.
    pub url: String,
    sampler: Arc<Sampler>,
    _runtime: Option<tokio::runtime::Runtime>,
}

impl Server {
    /// Takes another sample and returns the counters over time.
    pub fn timeline(&self) -> Timeline {
        self.sampler.timeline()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(runtime) = self._runtime.take() {
            // Connections of viewers do not end by themselves.
            runtime.shutdown_background();
        }
    }
}

/// Serves a source on separate threads.
///
/// # Errors
/// [`LiveError`].
pub fn serve(source: Arc<dyn LiveSource>, config: &Config) -> Result<Server, LiveError> {
    let failed = |source| LiveError::Listen { address: config.listen, source };
    let listener = std::net::TcpListener::bind(config.listen).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let local = address.ip().is_loopback();
    let token = match &config.token {
        Some(token) => Some(token.clone()),
        None if local => None,
        None => Some(new_token()?),
    };
    let query = token.as_ref().map(|token| format!("?token={token}")).unwrap_or_default();
    let access = Access { token, control: config.control.clone(), local_names_only: local };

    // One thread: viewers must not take processors away from the drive.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("wafer-http")
        .enable_all()
        .build()
        .map_err(LiveError::Start)?;
    let sampler = Sampler::new(source);
    runtime.spawn(sampler.clone().run(config.interval));
    let app = router(Arc::clone(&sampler), access);
    {
        let _inside = runtime.enter();
        let listener = tokio::net::TcpListener::from_std(listener).map_err(failed)?;
        runtime.spawn(connections::accept(listener, app, config.limits));
    }
    let url = format!("http://{address}/{query}");
    Ok(Server { address, url, sampler, _runtime: Some(runtime) })
}

/// Returns 128 random bits as text.
fn new_token() -> Result<String, LiveError> {
    let mut bytes = [0; 16];
    let filled = rand::rngs::OsRng.try_fill_bytes(&mut bytes);
    filled.map_err(|e| LiveError::Start(std::io::Error::other(e.to_string())))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn router(sampler: Arc<Sampler>, access: Access) -> Router {
    Router::new()
        .route("/", get(page))
        .route("/still", get(still))
        .route("/web/{*path}", get(file))
        .route("/metrics", get(scrape))
        .route("/api/v1/page", get(page_data))
        .route("/api/v1/record", get(record))
        .route("/api/v1/state", get(state))
        .route("/api/v1/reclaim-units", get(reclaim_units))
        .route("/api/v1/events", get(stream::events))
        .route(CONTROL, post(control).layer(DefaultBodyLimit::max(MOST_CONTROL)))
        .fallback(|| async { (StatusCode::NOT_FOUND, "no such page\n") })
        .layer(middleware::from_fn_with_state(access, guard))
        .with_state(sampler)
}

/// Checks access, refuses requests that could change something, and sets the headers of every response.
async fn guard(State(access): State<Access>, request: Request, next: Next) -> Response {
    let uri = request.uri().clone();
    let controls = request.method() == Method::POST && uri.path() == CONTROL;
    let checked = match controls {
        true => access.check_control(request.headers()),
        false => access.check(&uri, request.headers()),
    };
    let mut response = match checked {
        Err(Refusal::Host) => {
            (StatusCode::FORBIDDEN, "this address is served to the machine itself only\n")
                .into_response()
        }
        Err(Refusal::Token) => {
            let needed = match controls {
                true => "a token is needed: Authorization: Bearer TOKEN\n",
                false => "a token is needed: ?token=TOKEN or Authorization: Bearer TOKEN\n",
            };
            (StatusCode::UNAUTHORIZED, needed).into_response()
        }
        Err(Refusal::CrossSite) => {
            (StatusCode::FORBIDDEN, "a page of another site may not do this\n").into_response()
        }
        Err(Refusal::NoJson) => {
            (StatusCode::UNSUPPORTED_MEDIA_TYPE, "expected Content-Type: application/json\n")
                .into_response()
        }
        Ok(()) if controls => next.run(request).await,
        Err(Refusal::NoControl) => {
            (StatusCode::METHOD_NOT_ALLOWED, "nothing here changes anything\n").into_response()
        }
        Ok(()) if ![Method::GET, Method::HEAD].contains(request.method()) => {
            (StatusCode::METHOD_NOT_ALLOWED, "nothing here changes anything\n").into_response()
        }
        Ok(()) => next.run(request).await,
    };
    let headers = response.headers_mut();
    // The page keeps the token in a cookie that scripts cannot read, so that it need not remain in
    // the address.
    let shown = query_token(&uri).filter(|shown| access.token.as_deref() == Some(*shown));
    if let (Some(token), "/") = (shown, uri.path()) {
        let cookie = format!("{COOKIE}={token}; Path=/; HttpOnly; SameSite=Strict");
        if let Ok(cookie) = cookie.parse() {
            headers.insert(header::SET_COOKIE, cookie);
        }
    }
    let policy = HeaderValue::from_static(crate::report::policy_of_pages());
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Executes a request of an operator.
async fn control(State(sampler): State<Arc<Sampler>>, request: Bytes) -> Response {
    let source = Arc::clone(&sampler.source);
    let done = tokio::task::spawn_blocking(move || source.control(&request)).await;
    let (status, text) = done.unwrap_or_else(|error| (500, format!("{error}\n")));
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, [(header::CONTENT_TYPE, "application/json")], text).into_response()
}

async fn page() -> Response {
    answer("live.html")
}

async fn still(State(sampler): State<Arc<Sampler>>) -> Html<String> {
    Html(crate::report::still_page(&sampler.name, &sampler.page()))
}

async fn file(Path(path): Path<String>) -> Response {
    answer(&path)
}

fn answer(path: &str) -> Response {
    match crate::report::asset(path) {
        Some((data, media_type)) => {
            ([(header::CONTENT_TYPE, media_type)], data.into_owned()).into_response()
        }
        None => (StatusCode::NOT_FOUND, "no such file\n").into_response(),
    }
}

async fn scrape(State(sampler): State<Arc<Sampler>>) -> Response {
    let snapshot = sampler.newest();
    let viewers = sampler.viewers.load(Ordering::Relaxed);
    match metrics::text(&snapshot, sampler.page_bytes(), viewers) {
        Ok(text) => ([(header::CONTENT_TYPE, metrics::MEDIA_TYPE)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}

async fn page_data(State(sampler): State<Arc<Sampler>>) -> Json<Page> {
    Json(sampler.page())
}

async fn record(State(sampler): State<Arc<Sampler>>) -> Json<Record> {
    Json(sampler.record())
}

async fn state(State(sampler): State<Arc<Sampler>>) -> Json<Newest> {
    Json(sampler.state())
}

async fn reclaim_units(State(sampler): State<Arc<Sampler>>) -> Json<Option<ReclaimUnits>> {
    Json(sampler.source.reclaim_units())
}
