//! Lines, sections and includes of a job file. Values remain text here.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::{FioError, Origin, quote};

/// Maximum length of a line: fio's buffer.
const LINE_MAX: usize = 8191;
/// Maximum bytes of a job file. People write job files; anything larger is a device or a mistake.
pub(super) const FILE_MAX: u64 = 1 << 20;
/// Maximum depth of nested includes.
const INCLUDE_DEPTH: usize = 16;
/// Maximum lines of all files together, which stops includes that double at every level.
const LINES_MAX: usize = 100_000;

/// A section of a job file with its own options, in file order.
#[derive(Clone, Debug)]
pub(super) struct Section {
    /// Text between the brackets.
    pub(super) name: String,
    pub(super) at: Origin,
    pub(super) lines: Vec<OptionLine>,
}

impl Section {
    /// Returns whether the section is global: its options apply to all later sections.
    pub(super) fn is_global(&self) -> bool {
        // fio compares the first six characters only.
        self.name.starts_with("global")
    }
}

/// `option` or `option=value`, without comments or blanks at either end.
#[derive(Clone, Debug)]
pub(super) struct OptionLine {
    pub(super) text: String,
    pub(super) at: Origin,
}

/// Reads a text file of at most [`FILE_MAX`] bytes.
pub(super) fn read_text(path: &Path) -> Result<String, String> {
    use std::io::Read;
    let meta = std::fs::metadata(path).map_err(|e| io_reason(&e))?;
    if meta.is_dir() {
        return Err("is a directory, not a file".into());
    }
    let file = std::fs::File::open(path).map_err(|e| io_reason(&e))?;
    let mut bytes = Vec::new();
    file.take(FILE_MAX + 1).read_to_end(&mut bytes).map_err(|e| io_reason(&e))?;
    if bytes.len() as u64 > FILE_MAX {
        return Err(format!("is larger than {FILE_MAX} bytes"));
    }
    String::from_utf8(bytes).map_err(|e| {
        let before = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        let line = 1 + before.iter().filter(|&&b| b == b'\n').count();
        format!("line {line} is not UTF-8 text")
    })
}

fn io_reason(error: &std::io::Error) -> String {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::NotFound => "no such file".into(),
        ErrorKind::PermissionDenied => "may not be read".into(),
        kind => format!("cannot be read: {kind}"),
    }
}

/// A job file with those that it includes.
pub(super) type Parts = (Vec<Section>, Vec<PathBuf>, String);

/// Splits the text of a job file into sections, reading the files it includes.
///
/// Returns the sections, the included files, and the text with their text inserted.
pub(super) fn sections(text: &str, path: &Path) -> Result<Parts, FioError> {
    let mut reader = Reader::default();
    reader.stack.push(identity(path));
    reader.file(text, path, 0)?;
    Ok((reader.sections, reader.included, reader.text))
}

#[derive(Default)]
struct Reader {
    sections: Vec<Section>,
    included: Vec<PathBuf>,
    text: String,
    /// Files being read, outermost first.
    stack: Vec<PathBuf>,
    lines: usize,
}

impl Reader {
    fn file(&mut self, text: &str, path: &Path, depth: usize) -> Result<(), FioError> {
        let file: Arc<Path> = path.into();
        for (index, raw) in text.split('\n').enumerate() {
            let at =
                Origin { file: file.clone(), line: u32::try_from(index + 1).unwrap_or(u32::MAX) };
            let refuse = |why: String| Err(FioError::line(&at, why));
            self.lines += 1;
            if self.lines > LINES_MAX {
                return refuse(format!("more than {LINES_MAX} lines with all included files"));
            }
            if raw.len() > LINE_MAX {
                return refuse(format!("line of {} bytes; fio reads {LINE_MAX}", raw.len()));
            }
            // fio, written in C, would end the line here.
            if raw.contains('\0') {
                return refuse("a NUL byte: this is not text".into());
            }
            let line = strip(raw);
            let separator = if self.lines > 1 { "\n" } else { "" };
            let comment = if include_name(line).is_some() { "; " } else { "" };
            self.text.extend([separator, comment, raw]);
            self.line(line, at, depth)?;
        }
        Ok(())
    }

    fn line(&mut self, line: &str, at: Origin, depth: usize) -> Result<(), FioError> {
        if line.is_empty() {
            return Ok(());
        }
        if let Some(rest) = line.strip_prefix('[') {
            if depth > 0 {
                return Err(FioError::line(&at, "an included file may not have sections"));
            }
            let Some(name) = rest.strip_suffix(']') else {
                return Err(FioError::line(
                    &at,
                    format!("section header {} does not end in `]`", quote(line)),
                ));
            };
            self.sections.push(Section { name: name.to_owned(), at, lines: Vec::new() });
            return Ok(());
        }
        if self.sections.is_empty() {
            return Err(FioError::line(
                &at,
                format!("{} stands before the first [section]", quote(line)),
            ));
        }
        if let Some(name) = include_name(line) {
            return self.include(name, &at, depth);
        }
        if let Some(section) = self.sections.last_mut() {
            section.lines.push(OptionLine { text: line.to_owned(), at });
        }
        Ok(())
    }

    fn include(&mut self, name: &str, at: &Origin, depth: usize) -> Result<(), FioError> {
        let fail = |why: String| FioError::option(at, "include", format!("{} {why}", quote(name)));
        if name.is_empty() {
            return Err(FioError::option(at, "include", "names no file"));
        }
        if depth >= INCLUDE_DEPTH {
            return Err(fail(format!("is nested more than {INCLUDE_DEPTH} deep")));
        }
        let path = beside(&at.file, name);
        let id = identity(&path);
        if self.stack.contains(&id) {
            return Err(fail("includes itself".into()));
        }
        let text = read_text(&path).map_err(fail)?;
        self.stack.push(id);
        self.included.push(path.clone());
        self.file(&text, &path, depth + 1)?;
        self.stack.pop();
        Ok(())
    }
}

/// Returns the path of a file named in a job file: next to the file that names it, or as named if it exists only there.
///
/// fio looks in the working directory first; here, a job means the same wherever it is run.
pub(super) fn beside(from: &Path, name: &str) -> PathBuf {
    let relative = match from.parent() {
        Some(dir) => dir.join(name),
        None => PathBuf::from(name),
    };
    if !relative.exists() && Path::new(name).exists() {
        return PathBuf::from(name);
    }
    relative
}

/// Returns the canonical path of a file, the same for all its names.
fn identity(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Returns the file of an `include FILE` line.
fn include_name(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("include")?;
    let name = rest.strip_prefix([' ', '\t', '='])?;
    Some(name.trim())
}

/// Removes a comment (from the first `;` or `#`, wherever that is) and blanks at both ends.
fn strip(line: &str) -> &str {
    let end = line.find([';', '#']).unwrap_or(line.len());
    line[..end].trim_matches(|c: char| c.is_ascii_whitespace() || c.is_ascii_control())
}

#[cfg(test)]
mod tests;
