//! Serves a quick host from a thread that waits for its connection alone: a command takes two system calls instead of
//! three, and no scheduler. Whatever is not a command, its data and its completion is left to the event queue.

use std::io::{self, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use wafer_controller::Latch;
use wafer_io::Pool;

use super::connection::{Connection, Over};
use super::end::{End, is_ended};
use super::input::Input;
use super::output::Output;
use super::pace::{Pace, QUICK};

/// Why the thread ends.
pub(super) enum Left {
    /// The connection goes on in the event queue, beginning with what it has received.
    Queue,
    /// It is over by the protocol. What it had to send is sent.
    Over(Over),
    /// It has ended.
    Ended(End),
}

/// A connection outside the event queue.
pub(super) struct Direct<'a> {
    pub(super) socket: &'a TcpStream,
    pub(super) connection: &'a mut Connection,
    pub(super) input: &'a mut Input,
    pub(super) out: &'a mut Output,
    pub(super) pace: &'a mut Pace,
    pub(super) pool: &'a Pool,
    pub(super) stop: &'a Latch,
    /// Time for a host to receive output.
    pub(super) limit: Duration,
}

impl Direct<'_> {
    /// Serves the connection for as long as it is alone and quick.
    pub(super) fn serve(mut self) -> Left {
        let timeouts = self.socket.set_read_timeout(Some(QUICK));
        let timeouts = timeouts.and_then(|()| self.socket.set_write_timeout(Some(self.limit)));
        if let Err(error) = timeouts {
            return Left::Ended(End::Io(error));
        }
        loop {
            if is_ended(self.connection, self.stop) {
                return Left::Ended(End::Stopped);
            }
            self.input.fit(self.pool, false);
            if !self.pace.is_quick() || !self.connection.expects_command() || !self.input.has_room()
            {
                return Left::Queue;
            }
            match self.read() {
                Ok(None) => {
                    self.pace.reset();
                    return Left::Queue;
                }
                Ok(Some(0)) => return Left::Ended(End::Closed),
                Ok(Some(count)) => {
                    self.pace.received();
                    self.input.add(count);
                }
                Err(error) => return Left::Ended(End::Io(error)),
            }
            if let Some(left) = self.turns() {
                return left;
            }
            self.input.compact();
            self.pace.begin();
        }
    }

    /// Waits for input. Returns nothing if there is none in time.
    fn read(&mut self) -> io::Result<Option<usize>> {
        let (socket, room) = (self.socket, self.input.room());
        let mut read = |flags| match recv(socket, &mut *room, flags) {
            Ok((_, count)) => Some(Ok(count)),
            Err(Errno::AGAIN) => None,
            Err(error) => Some(Err(error)),
        };
        let mut result = self.pace.poll(|| read(RecvFlags::DONTWAIT));
        while let None | Some(Err(Errno::INTR)) = result {
            result = read(RecvFlags::empty());
            if result.is_none() {
                return Ok(None);
            }
        }
        Ok(result.transpose()?)
    }

    /// Executes the commands that are here, if there is memory for it at once. Returns where the connection goes on, if not
    /// here.
    fn turns(&mut self) -> Option<Left> {
        loop {
            let Some(share) = self.pool.try_turn() else {
                // Others need the memory: no thread for this one before long.
                self.pace.reset();
                return Some(Left::Queue);
            };
            let out = self.out.begin(self.pool);
            let result = self.connection.receive(self.input.bytes(), out);
            let share = share.keep(out.capacity() as u64);
            if let Err(end) = self.send() {
                return Some(Left::Ended(end));
            }
            self.out.sent(self.pool);
            drop(share);
            match result {
                Err(over) => return Some(Left::Over(over)),
                Ok(turn) => {
                    self.input.take(turn.taken);
                    if !turn.more {
                        return None;
                    }
                }
            }
            if is_ended(self.connection, self.stop) {
                return Some(Left::Ended(End::Stopped));
            }
        }
    }

    fn send(&mut self) -> Result<(), End> {
        let (mut rest, since) = (&self.out.bytes()[..], Instant::now());
        while !rest.is_empty() {
            match self.socket.write(rest) {
                Ok(0) => return Err(End::Io(io::ErrorKind::WriteZero.into())),
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Err(End::TimedOut);
                }
                Err(error) => return Err(End::Io(error)),
            }
            if !rest.is_empty() && since.elapsed() > self.limit {
                return Err(End::TimedOut);
            }
        }
        Ok(())
    }
}
