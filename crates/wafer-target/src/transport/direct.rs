//! Serves a fast host from a dedicated thread, where a command takes two system calls instead of three, and no
//! scheduler. Anything other than commands, their data and their completions is left to the event queue.

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

/// Why the thread stops serving the connection.
pub(super) enum Left {
    /// The connection continues in the event queue, starting with the input received so far.
    Queue,
    /// The protocol ended it. Its output has been sent.
    Over(Over),
    /// It has ended for another reason.
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
    /// Serves the connection as long as it is alone and fast.
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

    /// Waits for input. Returns `None` if there is none in time.
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

    /// Executes the commands received so far, if memory is available immediately. Returns where the connection
    /// continues, unless it continues here.
    fn turns(&mut self) -> Option<Left> {
        loop {
            let Some(share) = self.pool.try_turn() else {
                // Others need the memory, so this connection should not get a thread again soon.
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
