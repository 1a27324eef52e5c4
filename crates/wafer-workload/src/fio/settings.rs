//! The options of one section as values, before they are put together to jobs.

use std::collections::BTreeMap;

use super::distribution::{self, Split};
use super::engine::{self, Engine};
use super::error::{FioError, Origin, quote};
use super::expand::{Variables, expand};
use super::ini::OptionLine;
use super::lookup;
use super::placement::{self, Interface, Placement, Select};
use super::table::Class;
use super::value::{self, Amount};
use super::{IgnoredOption, MAX_JOBS};
use crate::job::{DIRECTIONS, Direction, Distribution, Order, Sequencer};

/// Deepest queue: what an NVMe submission queue can hold.
const IODEPTH_MAX: u32 = 65_536;

/// What the reading of options needs besides them, and what it finds on the way.
pub(super) struct Context<'a> {
    pub(super) page_bytes: u64,
    pub(super) variables: Variables<'a>,
    pub(super) ignored: Vec<IgnoredOption>,
}

impl Context<'_> {
    /// Reports an option without effect, once.
    pub(super) fn ignore(&mut self, name: &'static str, at: &Origin, reason: &'static str) {
        if self.ignored.iter().all(|i| i.name != name) {
            let file = at.file.to_path_buf();
            self.ignored.push(IgnoredOption { name, file, line: at.line, reason });
        }
    }
}

/// Values of all supported options, starting from fio's defaults.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    /// Where each option was set last, and as what (alias).
    origins: BTreeMap<&'static str, (Origin, String)>,
    pub(super) kb_base: u64,
    pub(super) name: Option<String>,
    pub(super) wait_for: Option<String>,
    pub(super) stonewall: bool,
    pub(super) exitall: bool,
    pub(super) engine: Engine,
    /// From `filename`.
    pub(super) namespace: Option<u8>,
    /// From the engine's own option, which goes before.
    pub(super) nsid: Option<u8>,
    pub(super) nrfiles: u32,

    pub(super) direction: Direction,
    pub(super) order: Order,
    pub(super) order_modifier: i64,
    pub(super) sequencer: Sequencer,
    pub(super) read_percent: u8,
    pub(super) percent_random: [u8; DIRECTIONS],

    pub(super) bs: [u64; DIRECTIONS],
    /// Set after `bssplit`; that clears it.
    pub(super) bsrange: [Option<(u64, u64)>; DIRECTIONS],
    pub(super) bssplit: [Split; DIRECTIONS],
    pub(super) bs_unaligned: bool,
    pub(super) blockalign: [Option<u64>; DIRECTIONS],

    pub(super) size: Option<Amount>,
    pub(super) io_size: Option<Amount>,
    pub(super) filesize: Option<(u64, u64)>,
    pub(super) fill_device: bool,
    pub(super) offset: Amount,
    pub(super) offset_increment: Amount,
    pub(super) offset_align: Option<u64>,
    pub(super) number_ios: u64,
    pub(super) loops: u32,
    pub(super) numjobs: u32,

    pub(super) time_based: bool,
    pub(super) runtime_us: u64,
    pub(super) ramp_us: u64,
    pub(super) start_delay_us: u64,

    pub(super) norandommap: bool,
    pub(super) lfsr: bool,
    pub(super) distribution: [Distribution; DIRECTIONS],
    /// A distribution besides `random` is named: it excludes the random map even where it comes
    /// out uniform.
    pub(super) skewed: bool,
    pub(super) seed: Option<u64>,
    /// `randrepeat`: every pass draws the same numbers.
    pub(super) random_repeat: bool,

    pub(super) iodepth: u32,
    pub(super) rate: [u64; DIRECTIONS],
    pub(super) rate_iops: [u32; DIRECTIONS],
    pub(super) thinktime_us: u64,
    pub(super) thinktime_blocks: u32,
    pub(super) placement: Placement,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            origins: BTreeMap::new(),
            kb_base: 1024,
            name: None,
            wait_for: None,
            stonewall: false,
            exitall: false,
            engine: Engine::Asynchronous,
            namespace: None,
            nsid: None,
            nrfiles: 1,
            direction: Direction::Read,
            order: Order::Sequential,
            order_modifier: 0,
            sequencer: Sequencer::Sequential,
            read_percent: 50,
            percent_random: [100; DIRECTIONS],
            bs: [4096; DIRECTIONS],
            bsrange: [None; DIRECTIONS],
            bssplit: [Split::new(), Split::new(), Split::new()],
            bs_unaligned: false,
            blockalign: [None; DIRECTIONS],
            size: None,
            io_size: None,
            filesize: None,
            fill_device: false,
            offset: Amount::Bytes(0),
            offset_increment: Amount::Bytes(0),
            offset_align: None,
            number_ios: 0,
            loops: 1,
            numjobs: 1,
            time_based: false,
            runtime_us: 0,
            ramp_us: 0,
            start_delay_us: 0,
            norandommap: false,
            lfsr: false,
            distribution: [Distribution::Uniform, Distribution::Uniform, Distribution::Uniform],
            skewed: false,
            seed: None,
            random_repeat: true,
            iodepth: 1,
            rate: [0; DIRECTIONS],
            rate_iops: [0; DIRECTIONS],
            thinktime_us: 0,
            thinktime_blocks: 1,
            placement: Placement::default(),
        }
    }
}

const RW: &[(&str, (Direction, Order))] = &[
    ("read", (Direction::Read, Order::Sequential)),
    ("write", (Direction::Write, Order::Sequential)),
    ("trim", (Direction::Trim, Order::Sequential)),
    ("randread", (Direction::Read, Order::Random)),
    ("randwrite", (Direction::Write, Order::Random)),
    ("randtrim", (Direction::Trim, Order::Random)),
    ("rw", (Direction::ReadWrite, Order::Sequential)),
    ("readwrite", (Direction::ReadWrite, Order::Sequential)),
    ("randrw", (Direction::ReadWrite, Order::Random)),
    ("trimwrite", (Direction::TrimWrite, Order::Sequential)),
    ("randtrimwrite", (Direction::TrimWrite, Order::Random)),
];

impl Settings {
    /// Where an option was set, and how the file spells it.
    pub(super) fn origin(&self, name: &str) -> Option<&(Origin, String)> {
        self.origins.get(name)
    }

    /// Reads the options of a section; later ones replace earlier ones.
    pub(super) fn apply(
        &mut self,
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
            self.option(&option.text, at, context).map_err(|why| match option.unset {
                Some(ref variable) => {
                    let unset = quote(&format!("${{{variable}}}"));
                    FioError::option(at, name, format!("{why} ({unset} is not set)"))
                }
                None => FioError::option(at, name, why),
            })?;
        }
        Ok(())
    }

    fn option(&mut self, text: &str, at: &Origin, context: &mut Context<'_>) -> Result<(), String> {
        let name = spelled(text);
        let value = text.split_once('=').map(|(_, value)| value);
        let info = lookup::find(name).ok_or_else(|| lookup::unknown(name))?;
        match info.class {
            Class::Supported => {
                self.set(info.name, value, at, context)?;
                self.origins.insert(info.name, (at.clone(), name.to_owned()));
            }
            Class::Ignored(reason) => context.ignore(info.name, at, reason),
            Class::Unsupported { off, .. } if value.is_some_and(|v| off.contains(&v.trim())) => {
                context.ignore(info.name, at, "switched off");
            }
            Class::Unsupported { why, .. } => return Err(why.into()),
            Class::Removed(instead) => {
                return Err(format!("fio has removed this option ({instead})"));
            }
        }
        Ok(())
    }

    /// Sets a supported option.
    fn set(
        &mut self,
        name: &'static str,
        given: Option<&str>,
        at: &Origin,
        context: &mut Context<'_>,
    ) -> Result<(), String> {
        let kb = self.kb_base;
        let flag = || value::flag(given);
        // What every other option needs.
        let text = || given.ok_or_else(|| "needs a value".to_owned());
        let filled = || match text()? {
            "" => Err("needs a value".to_owned()),
            text => Ok(text.to_owned()),
        };
        match name {
            "name" => self.name = Some(filled()?),
            "wait_for" => self.wait_for = Some(filled()?),
            "stonewall" => self.stonewall = flag()?,
            "exitall" => self.exitall = flag()?,
            "filename" => self.namespace = Some(engine::namespace(text()?)?),
            "xnvme_dev_nsid" => {
                let text = text()?;
                let nsid = engine::nsid(text);
                self.nsid = Some(nsid.ok_or_else(|| format!("{} is no namespace", quote(text)))?);
            }
            "nrfiles" => self.nrfiles = value::integer(text()?, kb, 0, u32::MAX)?,
            "ioengine" => {
                self.engine = engine::engine(text()?)?;
                if self.engine == Engine::Asynchronous {
                    context.ignore(name, at, "the device is modelled, not the host");
                }
            }
            "kb_base" => {
                self.kb_base = value::word(text()?, &[("1024", 1024), ("1000", 1000)])?;
            }
            "rw" => self.rw(text()?)?,
            "rw_sequencer" => {
                let words =
                    [("sequential", Sequencer::Sequential), ("identical", Sequencer::Identical)];
                self.sequencer = value::word(text()?, &words)?;
            }
            "rwmixread" => self.read_percent = value::percent(text()?, kb)?,
            "rwmixwrite" => self.read_percent = 100 - value::percent(text()?, kb)?,
            "percentage_random" => {
                merge(&mut self.percent_random, text()?, |t| value::percent(t, kb))?;
            }
            "bs" => merge(&mut self.bs, text()?, |t| value::size_above_zero(t, kb))?,
            "ba" => {
                merge(&mut self.blockalign, text()?, |t| value::size_above_zero(t, kb).map(Some))?;
            }
            "bsrange" => {
                let range = |t: &str| value::range(t, |t| value::size_above_zero(t, kb));
                let ranges = value::per_direction(text()?, value::COMMA, range)?;
                for (old, new) in self.bsrange.iter_mut().zip(ranges) {
                    *old = new.or(*old);
                }
            }
            "bssplit" => {
                let splits = distribution::bssplit(text()?, kb)?;
                for (direction, new) in splits.into_iter().enumerate() {
                    if !new.is_empty() {
                        self.bssplit[direction] = new;
                        // Both set the same bounds.
                        self.bsrange[direction] = None;
                    }
                }
            }
            "bs_unaligned" => self.bs_unaligned = flag()?,
            "size" => self.size = Some(value::amount(text()?, kb)?),
            "io_size" => self.io_size = Some(value::amount(text()?, kb)?),
            "filesize" => {
                let size = |t: &str| value::size_above_zero(t, kb);
                self.filesize = Some(value::value_or_range(text()?, size)?);
            }
            "fill_device" => self.fill_device = value::boolean(text()?)?,
            "offset" => self.offset = value::amount(text()?, kb)?,
            "offset_increment" => self.offset_increment = value::amount(text()?, kb)?,
            "offset_align" => self.offset_align = Some(value::size_above_zero(text()?, kb)?),
            "number_ios" => self.number_ios = value::unsigned(text()?, kb, "a number")?,
            "loops" => self.loops = value::integer(text()?, kb, 0, u32::MAX)?,
            "numjobs" => self.numjobs = value::integer(text()?, kb, 1, MAX_JOBS)?,
            "time_based" => self.time_based = flag()?,
            "runtime" => self.runtime_us = value::time_us(text()?, true)?,
            "ramp_time" => self.ramp_us = value::time_us(text()?, true)?,
            "startdelay" => {
                let time = |t: &str| value::time_us(t, true);
                self.start_delay_us = value::value_or_range(text()?, time)?.0;
            }
            "norandommap" => self.norandommap = flag()?,
            "random_generator" => {
                let words = [("tausworthe", false), ("lfsr", true), ("tausworthe64", false)];
                self.lfsr = value::word(text()?, &words)?;
            }
            "random_distribution" => {
                self.distribution = distribution::random_distribution(text()?, kb)?;
                self.skewed = given != Some("random");
            }
            "randrepeat" => self.random_repeat = value::boolean(text()?)?,
            "randseed" => self.seed = Some(value::unsigned(text()?, kb, "a number")?),
            "iodepth" => self.iodepth = value::integer(text()?, kb, 1, IODEPTH_MAX)?,
            "rate" => merge(&mut self.rate, text()?, |t| value::unsigned(t, kb, "a rate"))?,
            "rate_iops" => {
                merge(&mut self.rate_iops, text()?, |t| value::integer(t, kb, 0, u32::MAX))?;
            }
            "thinktime" => self.thinktime_us = value::time_us(text()?, false)?,
            "thinktime_blocks" => {
                self.thinktime_blocks = value::integer(text()?, kb, 1, u32::MAX)?;
            }
            "fdp" => self.placement.fdp = value::boolean(text()?)?,
            "dataplacement" => {
                let words = [
                    ("none", Interface::None),
                    ("fdp", Interface::Fdp),
                    ("streams", Interface::Streams),
                ];
                self.placement.interface = Some(value::word(text()?, &words)?);
            }
            "plid_select" => {
                let words = [
                    ("roundrobin", Select::RoundRobin),
                    ("random", Select::Random),
                    ("scheme", Select::Scheme),
                ];
                self.placement.select = value::word(text()?, &words)?;
            }
            "plids" => self.placement.plids = placement::plids(text()?)?,
            "dp_scheme" => self.placement.scheme = Some(placement::scheme(&at.file, text()?)?),
            // The table and this list belong together; a test goes through the table.
            _ => return Err("is not supported".into()),
        }
        Ok(())
    }

    fn rw(&mut self, text: &str) -> Result<(), String> {
        let (kind, postfix) = match text.split_once(':') {
            Some((kind, postfix)) => (kind, Some(postfix.trim())),
            None => (text, None),
        };
        (self.direction, self.order) = value::word(kind, RW)?;
        let random = self.order == Order::Random;
        self.order_modifier = match postfix {
            None if random => 1,
            None => 0,
            Some(text) if random => {
                let count = value::signed(text, self.kb_base, "a number")?;
                if !(1..=i64::from(u32::MAX)).contains(&count) {
                    return Err(format!("{} is not a number of commands", quote(text)));
                }
                count
            }
            Some(text) => value::signed(text, self.kb_base, "a size")?,
        };
        Ok(())
    }
}

/// The name of an option line, as the file spells it.
fn spelled(text: &str) -> &str {
    text.split('=').next().unwrap_or(text).trim_end()
}

/// Replaces the values of the directions that a list mentions.
fn merge<T: Copy>(
    values: &mut [T; DIRECTIONS],
    text: &str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<(), String> {
    let new = value::per_direction(text, value::NUMBERS, parse)?;
    for (old, new) in values.iter_mut().zip(new) {
        *old = new.unwrap_or(*old);
    }
    Ok(())
}
