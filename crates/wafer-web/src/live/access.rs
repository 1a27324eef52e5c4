//! Access control.
//!
//! On a loopback address everybody on the machine has access, but only under a name of the machine itself: a page of
//! another site whose name was made to point here (DNS rebinding) sends another `Host`. On other addresses each request
//! needs the token, as `Authorization: Bearer TOKEN`, as `?token=TOKEN`, or as the cookie that the page sets when it is
//! opened with `?token=`.

use axum::http::{HeaderMap, Uri, header};

/// The cookie that holds the token.
pub(crate) const COOKIE: &str = "wafer-token";

/// What requests need.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    /// Token for every request, if there is one.
    pub(crate) token: Option<String>,
    /// Token for requests of operators, which are refused if there is none.
    pub(crate) control: Option<String>,
    /// Whether `Host` must be a name of this machine.
    pub(crate) local_names_only: bool,
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// `Host` names another machine.
    Host,
    /// The token is missing or wrong.
    Token,
    /// Requests of operators are disabled.
    NoControl,
    /// A page of another site sent it.
    CrossSite,
    /// Its content type is not JSON, which a form of another site cannot send.
    NoJson,
}

impl Access {
    pub(crate) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        if self.local_names_only && !is_local(headers) {
            return Err(Refusal::Host);
        }
        let Some(token) = &self.token else { return Ok(()) };
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let cookie = text(header::COOKIE).and_then(|value| {
            value.split(';').find_map(|pair| pair.trim().strip_prefix(COOKIE)?.strip_prefix('='))
        });
        let shown = [bearer(headers), query_token(uri), cookie];
        if shown.into_iter().flatten().any(|shown| equal(shown, token)) {
            Ok(())
        } else {
            Err(Refusal::Token)
        }
    }
}

impl Access {
    /// Checks a request of an operator. Only `Authorization: Bearer TOKEN` counts, which browsers never add by
    /// themselves.
    pub(crate) fn check_control(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let Some(token) = &self.control else { return Err(Refusal::NoControl) };
        if self.local_names_only && !is_local(headers) {
            return Err(Refusal::Host);
        }
        let own = text("host").map(|host| [format!("http://{host}"), format!("https://{host}")]);
        let foreign = headers.contains_key(header::ORIGIN)
            && !own.is_some_and(|own| own.iter().any(|own| text("origin") == Some(own)));
        if foreign || text("sec-fetch-site").is_some_and(|s| !["same-origin", "none"].contains(&s))
        {
            return Err(Refusal::CrossSite);
        }
        let media = text("content-type").and_then(|value| value.split(';').next());
        if media.map(str::trim) != Some("application/json") {
            return Err(Refusal::NoJson);
        }
        if bearer(headers).is_some_and(|shown| equal(shown, token)) {
            Ok(())
        } else {
            Err(Refusal::Token)
        }
    }
}

/// Returns the token of `Authorization: Bearer`. The scheme is case-insensitive (RFC 9110, 11.1).
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token)
}

/// Returns the token of `?token=`.
pub(crate) fn query_token(uri: &Uri) -> Option<&str> {
    uri.query()?.split('&').find_map(|pair| pair.strip_prefix("token="))
}

fn is_local(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(header::HOST).and_then(|host| host.to_str().ok()) else {
        return false;
    };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.trim_start_matches('[').trim_end_matches(']');
    name == "localhost"
        || address.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Compares in a time that does not depend on the position of the first difference.
fn equal(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |all, (x, y)| all | (x ^ y)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            let name: axum::http::HeaderName = name.parse().unwrap();
            map.insert(name, value.parse().unwrap());
        }
        map
    }

    #[test]
    fn on_loopback_only_names_of_the_machine_are_served() {
        let access = Access { token: None, control: None, local_names_only: true };
        let uri = Uri::from_static("/");
        for host in ["localhost:8080", "127.0.0.1:8080", "127.3.2.1", "[::1]:80", "localhost"] {
            assert_eq!(access.check(&uri, &headers(&[("host", host)])), Ok(()), "{host}");
        }
        for host in ["evil.example:8080", "localhost.evil.example", "10.0.0.1", "[::2]:1", ""] {
            assert_eq!(
                access.check(&uri, &headers(&[("host", host)])),
                Err(Refusal::Host),
                "{host}"
            );
        }
        assert_eq!(access.check(&uri, &headers(&[])), Err(Refusal::Host));
    }

    #[test]
    fn elsewhere_the_token_is_needed_in_one_of_three_ways() {
        let access =
            Access { token: Some("secret".to_owned()), control: None, local_names_only: false };
        let plain = Uri::from_static("/metrics");
        let good = [
            (Uri::from_static("/metrics?a=1&token=secret"), headers(&[])),
            (plain.clone(), headers(&[("authorization", "Bearer secret")])),
            (plain.clone(), headers(&[("authorization", "bearer secret")])),
            (plain.clone(), headers(&[("cookie", "a=b; wafer-token=secret")])),
        ];
        for (uri, headers) in good {
            assert_eq!(access.check(&uri, &headers), Ok(()));
        }
        let bad = [
            (plain.clone(), headers(&[])),
            (Uri::from_static("/?token=secre"), headers(&[])),
            (Uri::from_static("/?token="), headers(&[])),
            (plain.clone(), headers(&[("authorization", "Basic secret")])),
            (plain, headers(&[("cookie", "wafer-token=no; other=secret")])),
        ];
        for (uri, headers) in bad {
            assert_eq!(access.check(&uri, &headers), Err(Refusal::Token));
        }
    }
}
