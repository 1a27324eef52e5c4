//! Finds the file systems mounted on a folder in `/proc/self/mountinfo` (proc_pid_mountinfo(5)).
//!
//! Unmounting goes by path and removes the topmost mount. Another file system may since have been mounted over a drive,
//! or be left below it.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

/// Name of the file system of a mounted drive.
pub(crate) const NAME: &str = "wafer";

/// A file system mounted on a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Number of the mount.
    id: String,
    /// Type of the file system: `fuse`, followed by a full stop and its name if a program mounted it for a user.
    kind: String,
    /// The mounted source.
    source: String,
}

/// The position of a mount among those on its folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visible {
    /// Shown by the folder.
    Top,
    /// Below another one.
    Covered,
    /// No longer mounted.
    Gone,
}

impl Place {
    /// Returns the mount shown by an absolute folder; none if it is not a mount point.
    pub(crate) fn at(folder: &Path) -> Option<Place> {
        all(&mounts(), folder).pop()
    }

    /// Returns whether it is a drive.
    pub(crate) fn is_drive(&self) -> bool {
        self.source == NAME && self.kind.starts_with("fuse")
    }

    /// Returns its current position.
    pub(crate) fn visible(&self, folder: &Path) -> Visible {
        let all = all(&mounts(), folder);
        match all.last() {
            Some(last) if last == self => Visible::Top,
            _ if all.contains(self) => Visible::Covered,
            _ => Visible::Gone,
        }
    }
}

fn mounts() -> String {
    std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default()
}

/// Returns the mounts on a folder in the order of a mountinfo file: the last one is shown.
fn all(mounts: &str, folder: &Path) -> Vec<Place> {
    let place = |line: &str| {
        let fields: Vec<&str> = line.split(' ').collect();
        // Optional fields end with a single hyphen.
        let end = fields.iter().position(|field| *field == "-")?;
        (unescaped(fields.get(4)?) == folder).then_some(())?;
        let text = |at: usize| fields.get(at).map(|field| (*field).to_owned());
        Some(Place { id: text(0)?, kind: text(end + 1)?, source: text(end + 2)? })
    };
    mounts.lines().filter_map(place).collect()
}

/// Decodes a path with spaces, tabs, line breaks and backslashes written as `\` and three octal digits.
fn unescaped(path: &str) -> PathBuf {
    let mut parts = path.split('\\');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        match part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                bytes.extend_from_slice(&part.as_bytes()[3..]);
            }
            None => bytes.extend_from_slice(part.as_bytes()),
        }
    }
    OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_mount_of_a_folder_is_what_it_shows() {
        let mounts = "\
            22 1 254:0 / / rw shared:1 - ext4 /dev/vda rw\n\
            90 22 0:40 / /mnt/a\\040b rw shared:9 - tmpfs wafer rw\n\
            91 90 0:41 / /mnt/a\\040b rw - fuse.wafer wafer rw,user_id=0\n\
            92 22 0:42 / /mnt/c rw master:2 shared:7 - fuse wafer rw\n\
            93 22 0:43 / /mnt/d rw - fuse.sshfs other rw\n";
        let drives = |folder: &str| -> Vec<bool> {
            all(mounts, Path::new(folder)).iter().map(Place::is_drive).collect()
        };
        assert_eq!(drives("/mnt/a b"), [false, true]);
        assert_eq!((drives("/mnt/c"), drives("/mnt/d")), (vec![true], vec![false]));
        assert!(drives("/mnt").is_empty());
        assert_eq!(all(mounts, Path::new("/mnt/c"))[0].id, "92");
    }
}
