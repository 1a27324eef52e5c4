//! `wafer completions` and `wafer man`

use clap::CommandFactory as _;
use clap_complete::Shell;
use clap_complete::env::Shells;
use wafer_lab::LabError;

use crate::args::Cli;
use wafer_output as output;

/// Prints the script with which a shell requests completions from `wafer`.
pub(crate) fn completions(shell: Shell) -> anyhow::Result<()> {
    let shells = Shells::builtins();
    let name = shell.to_string();
    let completer = shells
        .completer(&name)
        .ok_or_else(|| LabError::config(format!("completions {name}"), "no such shell"))?;
    let mut script = Vec::new();
    completer.write_registration("COMPLETE", "wafer", "wafer", "wafer", &mut script)?;
    let mut script = String::from_utf8(script)?;
    match shell {
        Shell::Bash => script.push_str(JOIN_WORDS),
        // A space after a key would begin a new word.
        Shell::Zsh => {
            for (there, instead) in KEYS_WITHOUT_SPACE {
                script = script.replace(there, instead);
            }
        }
        _ => {}
    }
    output::text(&script)
}

const KEYS_WITHOUT_SPACE: [(&str, &str); 3] = [
    ("local -a other=()", "local -a other=() keys=()"),
    (
        "            else\n                other+=",
        "            elif [[ \"$value\" == *[=.] ]]; then\n                keys+=(\"$completion\")\n            else\n                other+=",
    ),
    (
        "_describe -V 'values' other\n",
        "_describe -V 'values' other\n        [[ -n $keys ]] && _describe -V 'values' keys -S ''\n",
    ),
];

/// Bash splits words at `=` and `:`, which occur in `KEY=VALUE` and in addresses. This joins them before `wafer` is
/// called, and removes from its completions what the line already contains.
const JOIN_WORDS: &str = r#"
_wafer() {
    local words=() index=0 last='' part at
    for ((at = 0; at <= COMP_CWORD; at++)); do
        part=${COMP_WORDS[at]}
        # The word at the cursor ends there.
        ((at < COMP_CWORD)) || [[ $part =~ ^[=:]+$ ]] || part=$2
        if ((at > 0)) && [[ $part =~ ^[=:]+$ || $last =~ ^[=:]+$ ]]; then
            words[index]+=$part
        else
            index=${#words[@]}
            words+=("$part")
        fi
        last=$part
    done
    local known=${words[index]}
    [[ $last =~ ^[=:]+$ ]] || known=${known%"$last"}
    local COMP_WORDS=("${words[@]}") COMP_CWORD=$index
    _clap_complete_wafer "$1" "${words[index]}" "$3"
    COMPREPLY=("${COMPREPLY[@]#"$known"}")
}
complete -o nospace -o bashdefault -F _wafer wafer
"#;

pub(crate) fn man(command: &[String]) -> anyhow::Result<()> {
    let mut root = Cli::command();
    root.build();
    let unknown = || LabError::config(format!("man {}", command.join(" ")), "no such command");
    let page = command.iter().try_fold(&root, |page, name| page.find_subcommand(name));
    let mut text = Vec::new();
    let page = clap_mangen::Man::new(page.ok_or_else(unknown)?.clone());
    page.source(concat!("wafer ", env!("CARGO_PKG_VERSION"))).render(&mut text)?;
    output::text(&String::from_utf8_lossy(&text))
}
