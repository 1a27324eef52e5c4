//! Get Log Page.

use std::sync::atomic::Ordering;

use wafer_spec::zerocopy::IntoBytes as _;
use wafer_spec::*;

use super::async_event::MAX_CHANGED;
use super::identify::padded;
use super::{Controller, ERROR_ENTRIES, Failure, Kind, MAX_TRANSFER, Reply, feature};
use crate::drive::{DriveSnapshot, ENDURANCE_GROUP};

/// Log pages of I/O controllers.
const PAGES: [Lid; 13] = [
    Lid::SUPPORTED,
    Lid::ERROR,
    Lid::SMART,
    Lid::FIRMWARE,
    Lid::CHANGED_NAMESPACES,
    Lid::EFFECTS,
    Lid::ENDURANCE_GROUP,
    Lid::FEATURE_EFFECTS,
    Lid::FDP_CONFIGURATIONS,
    Lid::FDP_RUH_USAGE,
    Lid::FDP_STATISTICS,
    Lid::FDP_EVENTS,
    Lid::WAFER_HANDLES,
];

impl Controller {
    pub(crate) fn get_log_page(&self, sqe: &Sqe) -> Result<Reply, Failure> {
        let cdw10 = GetLogCdw10::from(sqe.cdw10.get());
        let cdw11 = GetLogCdw11::from(sqe.cdw11.get());
        let dwords = u64::from(cdw10.numdl_z()) + (u64::from(cdw11.numdu()) << 16) + 1;
        let length = dwords * 4;
        let offset = u64::from(sqe.cdw12.get()) | u64::from(sqe.cdw13.get()) << 32;
        if offset % 4 != 0 {
            return Err(Failure::field(48));
        }
        if GetLogCdw14::from(sqe.cdw14.get()).ot() {
            return Err(Failure::field(58));
        }
        if length > MAX_TRANSFER {
            return Err(Failure::field(42));
        }
        let lid = Lid(cdw10.lid());
        let page = match self.kind {
            Kind::Discovery => self.discovery_page(lid)?,
            Kind::Io => self.page(lid, &cdw10, &cdw11, sqe)?,
        };
        if offset >= page.len() as u64 {
            return Err(Failure::field(48));
        }
        let mut data = page;
        data.drain(..offset as usize);
        // Beyond the end of the page hosts get zeroes.
        data.resize(length as usize, 0);
        Ok(Reply::data(data))
    }

    fn page(
        &self,
        lid: Lid,
        cdw10: &GetLogCdw10,
        cdw11: &GetLogCdw11,
        sqe: &Sqe,
    ) -> Result<Vec<u8>, Failure> {
        let of_group = matches!(
            lid,
            Lid::ENDURANCE_GROUP
                | Lid::FDP_CONFIGURATIONS
                | Lid::FDP_RUH_USAGE
                | Lid::FDP_STATISTICS
                | Lid::FDP_EVENTS
        );
        if of_group && cdw11.lsi() != ENDURANCE_GROUP {
            return Err(Failure::field(46));
        }
        Ok(match lid {
            Lid::SUPPORTED => supported(&PAGES),
            Lid::ERROR => self.error_log(),
            Lid::SMART => {
                // One log for the whole controller.
                if ![0, 0xffff_ffff].contains(&sqe.nsid.get()) {
                    return Err(Failure::field(4));
                }
                self.smart()
            }
            Lid::FIRMWARE => {
                let mut log = FirmwareLog { afi: 1, ..Default::default() };
                log.slots[0] = padded(env!("CARGO_PKG_VERSION"));
                log.as_bytes().to_vec()
            }
            Lid::CHANGED_NAMESPACES => self.changed_namespaces(cdw10.rae()),
            Lid::EFFECTS => effects(),
            Lid::ENDURANCE_GROUP => self.endurance_group(),
            Lid::FEATURE_EFFECTS => feature_effects(),
            Lid::FDP_CONFIGURATIONS => self.fdp_configurations(),
            Lid::FDP_RUH_USAGE => self.fdp_usage()?,
            Lid::FDP_STATISTICS => self.fdp_statistics()?,
            Lid::FDP_EVENTS => self.fdp_events(cdw10.lsp())?,
            Lid::WAFER_HANDLES => self.handle_bytes(),
            _ => return Err(Status::INVALID_LOG_PAGE.into()),
        })
    }

    fn discovery_page(&self, lid: Lid) -> Result<Vec<u8>, Failure> {
        match lid {
            Lid::SUPPORTED => Ok(supported(&[Lid::SUPPORTED, Lid::DISCOVERY])),
            Lid::DISCOVERY => Ok(self.discovery()),
            _ => Err(Status::INVALID_LOG_PAGE.into()),
        }
    }

    fn discovery(&self) -> Vec<u8> {
        let options = &self.subsystem.options;
        let (address, port) = match &options.advertise {
            Some((address, port)) => (address.clone(), port.to_string()),
            None => match self.local.rsplit_once(':') {
                Some((address, port)) => (
                    address.trim_start_matches('[').trim_end_matches(']').to_owned(),
                    port.to_owned(),
                ),
                None => (self.local.clone(), String::new()),
            },
        };
        let entry = |subtype: Subtype, nqn: &str| DiscoveryEntry {
            trtype: 3,
            adrfam: if address.contains(':') { 2 } else { 1 },
            subtype: subtype.0,
            // No secure channel; SQ flow control may be disabled.
            treq: 0b110,
            portid: 1.into(),
            cntlid: 0xffff.into(),
            asqsz: 32.into(),
            trsvcid: padded(&port),
            subnqn: nqn_field(nqn),
            traddr: padded(&address),
            tsas: [0; 256],
            ..Default::default()
        };
        let entries =
            [entry(Subtype::CURRENT_DISCOVERY, DISCOVERY_NQN), entry(Subtype::NVM, &options.nqn)];
        let head = DiscoveryLog {
            genctr: 1.into(),
            numrec: (entries.len() as u64).into(),
            ..Default::default()
        };
        let mut page = head.as_bytes().to_vec();
        for entry in &entries {
            page.extend_from_slice(entry.as_bytes());
        }
        page
    }

    fn error_log(&self) -> Vec<u8> {
        let state = self.state();
        let mut page: Vec<u8> = state.errors.iter().flat_map(|e| e.as_bytes().to_vec()).collect();
        page.resize(ERROR_ENTRIES * size_of::<ErrorEntry>(), 0);
        page
    }

    fn smart(&self) -> Vec<u8> {
        let drive = self.subsystem.drive.snapshot();
        let units = |bytes: u64| u128::from(bytes.div_ceil(512_000)).into();
        let log = SmartLog {
            // 30 degrees Celsius: there is nothing to measure.
            temperature: 303.into(),
            available_spare: 100,
            spare_threshold: 10,
            data_units_read: units(drive.lifetime.read_bytes),
            data_units_written: units(drive.lifetime.host_bytes),
            host_reads: u128::from(drive.read_commands).into(),
            host_writes: u128::from(drive.write_commands).into(),
            power_cycles: 1.into(),
            power_on_hours: u128::from(drive.uptime_seconds as u64 / 3600).into(),
            unsafe_shutdowns: u128::from(self.subsystem.drive.unsafe_shutdowns()).into(),
            error_entries: u128::from(self.state().error_count).into(),
            ..Default::default()
        };
        log.as_bytes().to_vec()
    }

    fn changed_namespaces(&self, retain: bool) -> Vec<u8> {
        let mut state = self.state();
        let mut page = vec![0; 4096];
        if state.changed.len() > MAX_CHANGED {
            page[..4].fill(0xff);
        } else {
            for (slot, nsid) in page.chunks_exact_mut(4).zip(&state.changed) {
                slot.copy_from_slice(&nsid.to_le_bytes());
            }
        }
        if !retain {
            state.changed.clear();
            state.notice_sent = false;
            drop(state);
            self.wake.notify_one();
        }
        page
    }

    fn endurance_group(&self) -> Vec<u8> {
        let drive = self.subsystem.drive.snapshot();
        let billions = |bytes: u64| u128::from(bytes.div_ceil(1_000_000_000)).into();
        let log = EnduranceGroupLog {
            egfeat: 0x80,
            available_spare: 100,
            spare_threshold: 10,
            data_units_read: billions(drive.lifetime.read_bytes),
            data_units_written: billions(drive.lifetime.host_bytes),
            media_units_written: billions(drive.lifetime.media_bytes),
            host_reads: u128::from(drive.read_commands).into(),
            host_writes: u128::from(drive.write_commands).into(),
            total_capacity: u128::from(drive.capacity_bytes).into(),
            unallocated_capacity: u128::from(self.subsystem.drive.unallocated_bytes().0).into(),
            ..Default::default()
        };
        log.as_bytes().to_vec()
    }

    /// The vendor specific log page: bytes of each handle (docs/nvme-tcp.md).
    fn handle_bytes(&self) -> Vec<u8> {
        let DriveSnapshot { handles, gc, counters, .. } = self.subsystem.drive.snapshot();
        let entry = |ruhid: u16, c: &wafer_core::HandleCounters| HandleBytes {
            ruhid: ruhid.into(),
            host_bytes: c.host_bytes.into(),
            media_bytes: c.media_bytes.into(),
            erased_bytes: c.erased_bytes.into(),
            ..Default::default()
        };
        let mut entries: Vec<HandleBytes> =
            handles.iter().enumerate().map(|(at, h)| entry(at as u16, &h.counters)).collect();
        entries.extend(gc.iter().map(|c| entry(0xffff, c)));
        let size = size_of::<HandlesLog>() + entries.len() * size_of::<HandleBytes>();
        let page_bytes = self.subsystem.drive.geometry().page_bytes;
        let head = HandlesLog {
            magic: *b"WAFR",
            version: 1.into(),
            count: (entries.len() as u16).into(),
            size: (size as u32).into(),
            gc: u32::from(gc.is_some()).into(),
            relocated_bytes: (counters.relocated_pages * page_bytes).into(),
            collections: (counters.forced_gc + counters.background_gc).into(),
        };
        let mut page = head.as_bytes().to_vec();
        for entry in &entries {
            page.extend_from_slice(entry.as_bytes());
        }
        page
    }

    /// Commands completed on all queues.
    pub fn completed_commands(&self) -> u64 {
        self.commands.load(Ordering::Relaxed)
    }
}

fn supported(pages: &[Lid]) -> Vec<u8> {
    let mut log = SupportedLogs::default();
    for page in pages {
        log.pages[usize::from(page.0)] = 1.into();
    }
    log.as_bytes().to_vec()
}

fn effects() -> Vec<u8> {
    let plain = CommandEffects::new().with_csupp(true);
    let writes = plain.with_lbcc(true);
    let mut log = EffectsLog::default();
    let inventory = plain.with_nic(true);
    let admin = [
        (AdminOpcode::GET_LOG_PAGE, plain),
        (AdminOpcode::IDENTIFY, plain),
        (AdminOpcode::ABORT, plain),
        (AdminOpcode::SET_FEATURES, plain),
        (AdminOpcode::GET_FEATURES, plain),
        (AdminOpcode::ASYNC_EVENT_REQUEST, plain),
        (AdminOpcode::NAMESPACE_MANAGEMENT, inventory),
        (AdminOpcode::NAMESPACE_ATTACHMENT, inventory),
        (AdminOpcode::KEEP_ALIVE, plain),
        (AdminOpcode::DIRECTIVE_SEND, plain),
        (AdminOpcode::DIRECTIVE_RECEIVE, plain),
        (AdminOpcode::FORMAT_NVM, writes.with_ncc(true).with_cse(1)),
    ];
    for (opcode, effects) in admin {
        log.admin[usize::from(opcode.0)] = effects.into_bits().into();
    }
    let io = [
        (NvmOpcode::FLUSH, plain),
        (NvmOpcode::WRITE, writes),
        (NvmOpcode::READ, plain),
        (NvmOpcode::COMPARE, plain),
        (NvmOpcode::WRITE_ZEROES, writes),
        (NvmOpcode::DATASET_MANAGEMENT, writes),
        (NvmOpcode::VERIFY, plain),
        (NvmOpcode::IO_MANAGEMENT_RECEIVE, plain),
        (NvmOpcode::COPY, writes),
        (NvmOpcode::IO_MANAGEMENT_SEND, plain),
    ];
    for (opcode, effects) in io {
        log.io[usize::from(opcode.0)] = effects.into_bits().into();
    }
    log.as_bytes().to_vec()
}

fn feature_effects() -> Vec<u8> {
    let mut log = FeatureEffectsLog::default();
    for (fid, slot) in log.features.iter_mut().enumerate() {
        let fid = Fid(fid as u8);
        if let Ok(capabilities) = feature::capabilities(fid) {
            // Scope, bits 31:20: namespace, controller, or (FDP) endurance group.
            let scope = match fid {
                Fid::FDP => 1 << 23,
                _ if capabilities.namespace_specific() => 1 << 20,
                _ => 1 << 21,
            };
            *slot = (1 | scope).into();
        }
    }
    log.as_bytes().to_vec()
}
