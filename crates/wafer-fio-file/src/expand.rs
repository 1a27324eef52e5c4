//! Expansion of `${VARIABLE}` and fio's keywords in an option before it is read.

use super::error::quote;
use super::expr;

/// Looks up a `${VARIABLE}`.
pub(super) type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Maximum length of an option after expansion: the size of fio's buffer.
const LENGTH_MAX: usize = 8192;

pub(super) struct Expanded {
    pub(super) text: String,
    /// The first variable that is not set.
    pub(super) unset: Option<String>,
}

/// Expands an option. A variable that is not set expands to nothing, as in fio.
///
/// `$pagesize` is the device's page size. `$mb_memory` and `$ncpus` are refused: a workload must not depend on the
/// machine that models it.
pub(super) fn expand(
    text: &str,
    page_bytes: u64,
    variables: Variables<'_>,
) -> Result<Expanded, String> {
    let mut unset = None;
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let Some(end) = rest[start..].find('}') else { break };
        out.push_str(&rest[..start]);
        let name = &rest[start + 2..start + end];
        match variables(name) {
            Some(value) => out.push_str(&value),
            None => unset = unset.or_else(|| Some(name.to_owned())),
        }
        rest = &rest[start + end + 1..];
        if out.len() > LENGTH_MAX {
            return Err(format!("is longer than {LENGTH_MAX} bytes with its variables"));
        }
    }
    out.push_str(rest);
    for keyword in ["$mb_memory", "$ncpus"] {
        if out.contains(keyword) {
            return Err(format!("{keyword} depends on the machine; write the number"));
        }
    }
    if out.contains("$pagesize") {
        out = calculate(&out.replace("$pagesize", &page_bytes.to_string()))?;
    }
    Ok(Expanded { text: out, unset })
}

/// Evaluates a value with an operator. fio passes the values of options with keywords to `bc`.
fn calculate(text: &str) -> Result<String, String> {
    let Some((name, value)) = text.split_once('=') else { return Ok(text.to_owned()) };
    if !value.contains(['+', '-', '*', '/']) {
        return Ok(text.to_owned());
    }
    expr::evaluate(value, false)
        .and_then(|(v, _)| v.truncate())
        .map(|v| format!("{name}={v}"))
        .ok_or_else(|| format!("{} is not an expression", quote(value)))
}

#[cfg(test)]
mod tests;
