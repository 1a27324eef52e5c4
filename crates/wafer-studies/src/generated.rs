//! Documents in which a command generates the part between two marks.

use wafer_lab::LabError;

/// Marks around a generated part.
pub(crate) struct Marks {
    /// First line of the part.
    pub(crate) begin: &'static str,
    /// Last line of the part.
    pub(crate) end: &'static str,
}

impl Marks {
    /// Returns `document` with its generated part replaced by `part`, which includes the marks. An
    /// empty document becomes `title` followed by `part`.
    ///
    /// # Errors
    /// If the document, named `label`, is not empty and lacks the marks in order.
    pub(crate) fn replace(
        &self,
        label: &str,
        document: &str,
        title: &str,
        part: &str,
    ) -> Result<String, LabError> {
        if document.trim().is_empty() {
            return Ok(format!("# {title}\n\n{part}"));
        }
        let (begin, end) = (self.begin, self.end);
        let parts = document.split_once(begin).and_then(|(before, rest)| {
            let (_, after) = rest.split_once(end)?;
            Some((before, after))
        });
        let (before, after) = parts.ok_or_else(|| {
            LabError::config(label, format!("the marks `{begin}` and `{end}` are missing"))
        })?;
        Ok(format!("{before}{}{after}", part.trim_end()))
    }
}
