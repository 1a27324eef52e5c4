//! Writes `docs/configuration.md` from the configuration types: `make docs`.

mod render;

fn main() -> std::io::Result<()> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "docs/configuration.md".to_owned());
    std::fs::write(path, render::page())
}
