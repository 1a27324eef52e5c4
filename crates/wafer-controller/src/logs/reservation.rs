//! Reservation Notification: the oldest notification, which reading removes.

use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{Lid, ReservationNotification};

use super::Page;
use crate::async_event::Notice;

pub(super) const PAGE: Page = Page {
    lid: Lid::RESERVATION_NOTIFICATION,
    read: |controller, request| {
        let mut state = controller.state();
        let notifications = &mut state.notifications;
        let mut page = ReservationNotification::default();
        if let Some((count, notice, nsid)) = notifications.queue.front().copied() {
            page.count = count.into();
            page.kind = notice as u8;
            page.available = (notifications.queue.len() - 1) as u8;
            page.nsid = nsid.into();
        }
        if !request.retain {
            notifications.queue.pop_front();
            notifications.notice = Notice::default();
            if !notifications.queue.is_empty() {
                notifications.notice.raise();
            }
            drop(state);
            controller.wake.notify_one();
        }
        Ok(page.as_bytes().to_vec())
    },
};
