//! The configurations shipped with the library: devices, workloads, experiments and published curves.

use rust_embed::RustEmbed;
#[derive(RustEmbed)]
#[cfg_attr(not(target_arch = "wasm32"), folder = "../../configs")]
// A web page downloads all shipped files, so it has only the profiles.
#[cfg_attr(target_arch = "wasm32", folder = "../../configs/devices", prefix = "devices/")]
struct Shipped;

/// Folder of the device profiles, each named after its file.
const DEVICES: &str = "devices/";

/// A shipped device profile.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Name.
    pub name: String,
    /// Path in the repository, for messages.
    pub path: String,
    /// Text of the file, with a source for every value.
    pub text: String,
}

/// Returns all shipped profiles, ordered by name.
pub fn profiles() -> Vec<Profile> {
    let name = |path: String| Some(path.strip_prefix(DEVICES)?.strip_suffix(".toml")?.to_owned());
    let mut names: Vec<String> = shipped_files().filter_map(name).collect();
    names.sort();
    names.iter().filter_map(|name| profile(name)).collect()
}

/// Returns the shipped profile with a name.
pub fn profile(name: &str) -> Option<Profile> {
    let path = format!("{DEVICES}{name}.toml");
    let text = String::from_utf8(shipped(&path)?.into_owned()).ok()?;
    Some(Profile { name: name.to_owned(), path: format!("configs/{path}"), text })
}

/// Returns the paths of all shipped configurations, in order.
pub fn shipped_files() -> impl Iterator<Item = String> {
    let mut paths: Vec<String> = Shipped::iter().map(|path| path.into_owned()).collect();
    paths.sort();
    paths.into_iter()
}

pub(crate) fn shipped(path: &str) -> Option<std::borrow::Cow<'static, [u8]>> {
    Shipped::get(path).map(|file| file.data)
}
