//! Reads the option lines of a section into its settings.

use super::error::{FioError, Origin, quote};
use super::expand::expand;
use super::ini::OptionLine;
use super::options::{Effect, Value, find, unknown};
use super::settings::{Context, Settings};

/// Reads the options of a section; later ones replace earlier ones.
pub(super) fn apply(
    settings: &mut Settings,
    lines: &[OptionLine],
    context: &mut Context<'_>,
) -> Result<(), FioError> {
    let mut options = Vec::with_capacity(lines.len());
    for line in lines {
        let expanded = expand(&line.text, context.page_bytes, context.variables)
            .map_err(|e| FioError::option(&line.at, spelled(&line.text), e))?;
        options.push((expanded, &line.at));
    }
    // fio reads `kb_base` before everything else in the section.
    options.sort_by_key(|(option, _)| spelled(&option.text) != "kb_base");
    for (option, at) in options {
        let name = spelled(&option.text);
        if name.is_empty() {
            return Err(FioError::line(at, format!("{} names no option", quote(&option.text))));
        }
        apply_one(settings, &option.text, at, context).map_err(|why| match option.unset {
            Some(ref variable) => {
                let unset = quote(&format!("${{{variable}}}"));
                FioError::option(at, name, format!("{why} ({unset} is not set)"))
            }
            None => FioError::option(at, name, why),
        })?;
    }
    Ok(())
}

fn apply_one(
    settings: &mut Settings,
    text: &str,
    at: &Origin,
    context: &mut Context<'_>,
) -> Result<(), String> {
    let name = spelled(text);
    let given = text.split_once('=').map(|(_, value)| value);
    let option = find(name).ok_or_else(|| unknown(name))?;
    match option.effect {
        Effect::Followed(read) => {
            let value = Value { given, at, kb: settings.kb_base };
            read(settings, &value, context)?;
            settings.set_at(option.name, at, name);
        }
        Effect::None => context.ignore(option.name, at, option.meaning),
        Effect::Refused(off) if given.is_some_and(|v| off.contains(&v.trim())) => {
            context.ignore(option.name, at, "switched off");
        }
        Effect::Refused(_) => return Err(option.meaning.into()),
        Effect::Removed => return Err(format!("fio has removed this option ({})", option.meaning)),
    }
    Ok(())
}

/// Returns the name of an option line, as the file spells it.
fn spelled(text: &str) -> &str {
    text.split('=').next().unwrap_or(text).trim_end()
}
