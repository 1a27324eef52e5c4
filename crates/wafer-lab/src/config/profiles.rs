//! The device profiles that the binary carries.

/// A shipped device profile.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// Name for `--device`.
    pub name: &'static str,
    /// Path in the repository, as messages show it.
    pub path: &'static str,
    /// The file, with a source for every value.
    pub text: &'static str,
}

macro_rules! profiles {
    ($($name:literal),* $(,)?) => {
        &[$(Profile {
            name: $name,
            path: concat!("configs/devices/", $name, ".toml"),
            text: include_str!(concat!("../../../../configs/devices/", $name, ".toml")),
        }),*]
    };
}

/// All shipped profiles.
pub const PROFILES: &[Profile] =
    profiles!["warp", "warp-pi", "drive-a", "drive-b", "xd8", "micron-7450", "pm9d3"];

/// The shipped profile of a name.
pub fn profile(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.name == name)
}
