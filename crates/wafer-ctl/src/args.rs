//! The command line of `wafer ctl`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use uuid::Uuid;
use wafer_controller::faults::EventKind;
use wafer_target::control::AnaAccess;

const CTL_EXAMPLES: &str = "\
Examples:
  wafer serve --device pm9d3 --set capacity=64GiB --set reclaim_unit.size=64MiB --ctl ctl.sock &
  wafer ctl ctl.sock status
  wafer ctl ctl.sock media-error --namespace 1 --lba 4096 --blocks 8
  wafer ctl ctl.sock media-error --namespace 1 --lba 4096 --blocks 8 --clear
  wafer ctl ctl.sock read-delay --namespace 1 --lba 0 --blocks 8 --time 2s
  wafer ctl ctl.sock health --available-spare 5 --critical-warning read-only
  wafer ctl ctl.sock fail write --status write-fault --count 3 --dnr
  wafer ctl ctl.sock fail admin:0x06 --status 0/0x06
  wafer ctl ctl.sock drop --host nqn.2014-08.org.nvmexpress:uuid:9f1a6c8e-0d3b-4a6e-8a56-2f7c1d0b7e11 --queue 1
  wafer ctl ctl.sock event persistent-internal-error
  wafer ctl ctl.sock ana inaccessible --port 2
  wafer ctl ctl.sock namespace 1 --off
  wafer ctl ctl.sock namespace 1 --uuid random --ana-group 2 --on
  wafer ctl ctl.sock hosts hosts.toml
  wafer ctl ctl.sock clear

Media errors stay until the blocks are written or deallocated, and a UUID until it is changed, even across
restarts. Everything else ends with the server.";

/// A request to a server.
#[derive(Debug, Args)]
#[command(after_help = CTL_EXAMPLES)]
pub struct CtlArgs {
    /// Socket that the server was given with --ctl.
    #[arg(value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) path: PathBuf,

    /// NQN of the subsystem, if the server has several.
    #[arg(long, global = true, value_name = "NQN")]
    pub(crate) subsystem: Option<String>,

    /// Print the response as JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,

    #[command(subcommand)]
    pub(crate) command: CtlCommand,
}

/// What to request.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum CtlCommand {
    /// List what is injected, and the hosts that are connected.
    Status,
    /// Fail reads of blocks with Unrecovered Read Error until they are written or deallocated.
    MediaError {
        #[command(flatten)]
        blocks: BlockArgs,

        /// Remove the media errors of these blocks.
        #[arg(long)]
        clear: bool,
    },
    /// Delay the completion of reads of blocks. Other commands are not delayed.
    ReadDelay {
        #[command(flatten)]
        blocks: BlockArgs,

        /// Time of each read, from 1ms to 60s.
        #[arg(long, value_name = "TIME", value_parser = delay, required_unless_present = "clear")]
        time: Option<Duration>,

        /// Remove the delays that affect any of these blocks.
        #[arg(long, conflicts_with = "time")]
        clear: bool,
    },
    /// Change values of the SMART log. Unspecified values are unchanged.
    #[command(arg_required_else_help = true)]
    Health {
        /// Available spare, percent. Below 10 it is a critical warning.
        #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
        available_spare: Option<u8>,

        /// Composite temperature, kelvin: 343 is 70 degrees Celsius. Beyond a host's threshold it is a critical
        /// warning.
        #[arg(long, value_name = "KELVIN")]
        temperature: Option<u16>,

        /// Percentage used, 0 to 255.
        #[arg(long, value_name = "PERCENT")]
        percentage_used: Option<u8>,

        /// Critical warnings in addition to those implied by the values, separated by commas.
        #[arg(long, value_name = "BITS", value_enum, value_delimiter = ',')]
        critical_warning: Vec<CriticalWarningBit>,

        /// Restore the drive's own values first.
        #[arg(long)]
        clear: bool,
    },
    /// Fail the next commands of an opcode.
    Fail {
        /// Name, such as `read` or `get-log-page`, or queue and code, such as `io:0x02` or `admin:0x06`.
        #[arg(value_name = "OPCODE")]
        opcode: String,

        /// Name, such as `write-fault`, or type and code, such as `2/0x80`.
        #[arg(long, value_name = "STATUS")]
        status: String,

        /// Number of commands.
        #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
        count: u32,

        /// Set Do Not Retry, so that hosts do not try the command again.
        #[arg(long)]
        dnr: bool,

        /// NQN of the host whose commands fail. Default: every host.
        #[arg(long, value_name = "NQN")]
        host: Option<String>,

        /// Namespace of the commands that fail. Default: any.
        #[arg(long, value_name = "NSID")]
        namespace: Option<u32>,
    },
    /// Drop connections, as if the network failed.
    Drop {
        /// NQN of the host. Default: every host.
        #[arg(long, value_name = "NQN")]
        host: Option<String>,

        /// Queue whose connection to drop; with queue 0, the admin queue, all of its controller. Default: all.
        #[arg(long, value_name = "N")]
        queue: Option<u16>,
    },
    /// Send an asynchronous event to the hosts that have enabled it.
    Event {
        /// What the event reports.
        #[arg(value_name = "KIND", value_enum)]
        kind: EventKind,

        /// NQN of the host. Default: every host.
        #[arg(long, value_name = "NQN")]
        host: Option<String>,
    },
    /// Change the access to namespaces through a port (Asymmetric Namespace Access).
    Ana {
        /// State of the port.
        #[arg(value_name = "STATE", value_enum)]
        state: AnaAccess,

        /// Port: 1 is the first --listen of the server.
        #[arg(long, value_name = "ID", default_value = "1")]
        port: u16,

        /// ANA group of the namespaces, from 1 to 16. Default: all.
        #[arg(long, value_name = "N")]
        group: Option<u32>,
    },
    /// Switch a namespace on or off, or change its identity or ANA group while it is off.
    #[command(group = clap::ArgGroup::new("change").required(true).multiple(true))]
    Namespace {
        /// Namespace.
        #[arg(value_name = "NSID")]
        namespace: u32,

        /// Hosts no longer see it. It stays on the drive, with its data.
        #[arg(long, group = "change")]
        off: bool,

        /// The hosts that it is attached to see it again. With --uuid or --ana-group, this comes last.
        #[arg(long, group = "change", conflicts_with = "off")]
        on: bool,

        /// UUID, or `random`. The NGUID changes too, so that hosts treat it as a different namespace.
        #[arg(long, group = "change", value_name = "UUID", value_parser = uuid)]
        uuid: Option<Uuid>,

        /// ANA group, from 1 to 16. Every namespace begins in group 1.
        #[arg(long, group = "change", value_name = "N")]
        ana_group: Option<u32>,
    },
    /// Change which hosts may connect, how they authenticate, and what they may do. Hosts that are connected keep their
    /// rights until they connect again.
    Hosts {
        /// File of hosts, as for `wafer serve --hosts`.
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
    /// Remove everything injected except media errors. Namespaces, port states and hosts are unchanged.
    Clear,
}

/// Logical blocks of a namespace.
#[derive(Clone, Debug, Args)]
pub(crate) struct BlockArgs {
    /// Namespace.
    #[arg(long, value_name = "NSID")]
    pub(crate) namespace: u32,

    /// First logical block.
    #[arg(long, value_name = "LBA")]
    pub(crate) lba: u64,

    /// Number of logical blocks.
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) blocks: u64,
}

/// A bit of Critical Warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CriticalWarningBit {
    /// The available spare is low.
    Spare,
    /// A temperature is beyond a threshold.
    Temperature,
    /// The drive is no longer reliable.
    Reliability,
    /// The media are read-only. The drive accepts writes nevertheless.
    ReadOnly,
    /// The backup of the volatile memory failed.
    Backup,
    /// The persistent memory region is unreliable.
    PersistentMemory,
    /// None: clears previously set bits.
    None,
}

fn delay(text: &str) -> Result<Duration, String> {
    let range = Duration::from_millis(1)..=Duration::from_secs(60);
    let time = humantime::parse_duration(text).ok().filter(|time| range.contains(time));
    time.ok_or_else(|| "expected a time from 1ms to 60s".to_owned())
}

fn uuid(text: &str) -> Result<Uuid, uuid::Error> {
    if text == "random" { Ok(Uuid::new_v4()) } else { text.parse() }
}
