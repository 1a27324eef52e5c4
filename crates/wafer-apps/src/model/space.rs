//! The namespaces of an application.

use wafer_interface::InvalidKey;

/// The namespaces that an application writes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Space {
    /// Bytes of a page, the mapping unit of the device.
    pub page_bytes: u64,
    /// The namespaces it may use.
    pub namespaces: Vec<Extent>,
}

/// One namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Its capacity.
    pub bytes: u64,
    /// Number of its placement handles; `None` if the device has no FDP and accepts any handle.
    pub handles: Option<u16>,
}

impl Space {
    /// Returns one namespace of `bytes` bytes with `handles` placement handles and pages of 4 KiB.
    pub fn single(bytes: u64, handles: u16) -> Self {
        Space { page_bytes: 4096, namespaces: vec![Extent { bytes, handles: Some(handles) }] }
    }

    pub(super) fn first(&self) -> Extent {
        self.namespaces.first().copied().unwrap_or(Extent { bytes: 0, handles: None })
    }

    /// Refuses placement handles that their namespaces do not have. Each is given with its key and
    /// the position of its namespace.
    pub(super) fn check_handles<'a>(
        &self,
        given: impl IntoIterator<Item = (&'a str, usize, Option<u16>)>,
    ) -> Result<(), InvalidKey> {
        for (key, namespace, handle) in given {
            let handles = self.namespaces.get(namespace).and_then(|n| n.handles);
            if let (Some(handle), Some(handles)) = (handle, handles)
                && handle >= handles
            {
                let message =
                    format!("{handle}: the namespace has placement handles 0 to {}", handles - 1);
                return Err(InvalidKey::new(key, message));
            }
        }
        Ok(())
    }
}
