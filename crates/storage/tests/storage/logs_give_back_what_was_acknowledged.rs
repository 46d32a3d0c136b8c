//! What was acknowledged comes back after any crash, in order, once; what was not may come back, but only as a beginning of what was appended.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use object_store::memory::InMemory;
use proptest::prelude::*;
use tailrace_storage::*;

use crate::columns::Rng;
use crate::samples::name;

fn reopen(backend: &Arc<dyn Backend>) -> (Vec<Record>, LogWriter) {
    let mut log = replay(backend, Sequence(0)).unwrap();
    let records = log.by_ref().collect::<Result<Vec<_>, _>>().unwrap();
    let end = log.end().unwrap();
    assert_eq!(end.next, Sequence(records.len() as u64));
    (records, LogWriter::resume(Arc::clone(backend), &end).unwrap())
}

fn payload(number: u64) -> Vec<u8> {
    let mut random = Rng(number);
    (0..random.pick(&[0, 1, 7, 8, 9, 500])).map(|_| random.next() as u8).collect()
}

fn check(records: &[Record]) {
    for (number, record) in (0..).zip(records) {
        assert_eq!(*record, Record { sequence: Sequence(number), payload: payload(number) });
    }
}

#[test]
fn records_come_back_from_any_number_on() {
    let backend: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
    let (_, writer) = reopen(&backend);
    for number in 0..30 {
        let record = writer.append(payload(number)).unwrap();
        assert_eq!(record, Sequence(number));
        if number % 7 == 0 {
            assert_eq!(writer.rotate().unwrap(), Sequence(number + 1));
        }
    }
    writer.commit(Sequence(u64::MAX)).unwrap();
    assert_eq!((writer.next(), writer.durable()), (Sequence(30), Sequence(30)));
    check(&reopen(&backend).0);
    for from in 0..30 {
        let first = replay(&backend, Sequence(from)).unwrap().next().unwrap().unwrap();
        assert_eq!((first.sequence, first.payload), (Sequence(from), payload(from)));
    }
    assert_eq!(replay(&backend, Sequence(30)).unwrap().count(), 0);
    assert_eq!(replay(&backend, Sequence(40)).unwrap().end().unwrap().next, Sequence(40));
}

#[test]
fn after_a_checkpoint_old_segments_go() {
    let backend: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
    let (_, writer) = reopen(&backend);
    (0..5).for_each(|number| assert_eq!(writer.append(payload(number)).unwrap(), Sequence(number)));
    let from = writer.rotate().unwrap();
    writer.commit(writer.append(payload(5)).unwrap()).unwrap();
    assert_eq!(trim(backend.as_ref(), from).unwrap(), 1);
    assert_eq!(trim(backend.as_ref(), from).unwrap(), 0);
    let records: Vec<Record> = replay(&backend, from).unwrap().map(Result::unwrap).collect();
    assert_eq!(records, [Record { sequence: Sequence(5), payload: payload(5) }]);
    let message = replay(&backend, Sequence(0)).err().unwrap().to_string();
    assert!(message.contains("expected record 0, found 5"), "{message}");
}

#[test]
fn rotating_twice_and_opening_again_keep_the_numbers() {
    let backend: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
    for round in 0..5 {
        let (records, writer) = reopen(&backend);
        assert_eq!(records.len(), round);
        assert_eq!(writer.rotate().unwrap(), Sequence(round as u64));
        assert_eq!(writer.rotate().unwrap(), Sequence(round as u64));
        writer.commit(writer.append(payload(round as u64)).unwrap()).unwrap();
    }
    check(&reopen(&backend).0);
}

#[test]
fn a_failed_sync_ends_the_writer_and_opening_again_finds_out() {
    let memory: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
    // Listing, then append, write and sync of the header; write, sync and mark of the first record; write; the sync that fails.
    let faults = Arc::new(Faults::at(8, Fault::Broken));
    let backend: Arc<dyn Backend> = Arc::new(FailingBackend::new(Arc::clone(&memory), faults));
    let (_, writer) = reopen(&backend);
    writer.commit(writer.append(payload(0)).unwrap()).unwrap();
    let record = writer.append(payload(1)).unwrap();
    let message = writer.commit(record).unwrap_err().to_string();
    assert!(message.contains("takes no more records since a write failed"), "{message}");
    assert!(writer.append(payload(2)).is_err() && writer.rotate().is_err());
    assert_eq!(writer.durable(), Sequence(1));
    let (records, _) = reopen(&memory);
    check(&records);
    assert!(!records.is_empty());
}

#[test]
fn a_record_that_is_too_long_is_refused() {
    let backend: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
    let (_, writer) = reopen(&backend);
    // Memory that is never touched costs nothing.
    let message = writer.append(vec![0; (1 << 30) + 1]).unwrap_err().to_string();
    assert_eq!(
        message,
        "a record of 1073741825 bytes; the input log takes up to 1073741824: send it in smaller steps"
    );
}

#[test]
fn object_stores_keep_a_log_of_objects() {
    let backend: Arc<dyn Backend> =
        Arc::new(ObjectBackend::new(Arc::new(InMemory::new()), "db", RetryPolicy::never()).unwrap());
    for round in 0..3 {
        let (records, writer) = reopen(&backend);
        check(&records);
        assert_eq!(records.len(), round * 4);
        for number in 0..4 {
            writer.append(payload((round * 4 + number) as u64)).unwrap();
            if number % 2 == 1 {
                writer.commit(Sequence(u64::MAX)).unwrap();
            }
        }
        writer.rotate().unwrap();
    }
    assert_eq!(backend.list("log").unwrap().len(), 6);
    assert_eq!(trim(backend.as_ref(), Sequence(8)).unwrap(), 4);
}

/// Syncs slowly, as disks do, and counts.
#[derive(Debug)]
struct SlowBackend(MemoryBackend, Arc<AtomicU64>);

struct SlowLog(Box<dyn LogFile>, Arc<AtomicU64>);

impl LogFile for SlowLog {
    fn write(&mut self, bytes: &[u8]) -> Result<(), BackendError> {
        self.0.write(bytes)
    }

    fn sync(&mut self) -> Result<(), BackendError> {
        self.1.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(std::time::Duration::from_millis(3));
        self.0.sync()
    }
}

impl Backend for SlowBackend {
    fn create(&self, name: &FileName) -> Result<Box<dyn NewFile>, BackendError> {
        self.0.create(name)
    }

    fn open(&self, name: &FileName) -> Result<Arc<dyn OpenFile>, BackendError> {
        self.0.open(name)
    }

    fn list(&self, directory: &str) -> Result<Vec<Listed>, BackendError> {
        self.0.list(directory)
    }

    fn remove(&self, name: &FileName) -> Result<(), BackendError> {
        self.0.remove(name)
    }

    fn append(&self, name: &FileName, keep: u64) -> Result<Box<dyn LogFile>, BackendError> {
        Ok(Box::new(SlowLog(self.0.append(name, keep)?, Arc::clone(&self.1))))
    }

    fn appends(&self) -> bool {
        true
    }
}

#[test]
fn threads_that_wait_together_share_a_sync() {
    let (memory, syncs) = (MemoryBackend::new(), Arc::new(AtomicU64::new(0)));
    let backend: Arc<dyn Backend> = Arc::new(SlowBackend(memory.clone(), Arc::clone(&syncs)));
    let (_, writer) = reopen(&backend);
    std::thread::scope(|scope| {
        for thread in 0..8u8 {
            let writer = &writer;
            scope.spawn(move || {
                for number in 0..20u8 {
                    let record = writer.append(vec![thread, number]).unwrap();
                    writer.commit(record).unwrap();
                    assert!(writer.durable() > record);
                }
            });
        }
    });
    let syncs = syncs.load(Ordering::Relaxed);
    assert!(syncs < 100, "{syncs} syncs for 160 commits");
    // What survives the loss of power is all of it, each thread's records in order.
    let survivor: Arc<dyn Backend> = Arc::new(memory.after_power_loss(|_| Vec::new()));
    let (records, _) = reopen(&survivor);
    assert_eq!(records.len(), 160);
    for thread in 0..8u8 {
        let own: Vec<u8> = records
            .iter()
            .filter(|record| record.payload[0] == thread)
            .map(|record| record.payload[1])
            .collect();
        assert_eq!(own, (0..20).collect::<Vec<u8>>());
    }
}

#[derive(Clone, Debug)]
enum Act {
    Append,
    Commit,
    Rotate,
    Reopen,
    LosePower(u64),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        6 => Just(Act::Append),
        3 => Just(Act::Commit),
        1 => Just(Act::Rotate),
        1 => Just(Act::Reopen),
        2 => any::<u64>().prop_map(Act::LosePower),
    ];
    prop::collection::vec(act, 1..60)
}

/// What a disk makes of bytes that were not synced: some of them, in pages that came or did not, some of them scrambled.
fn torn(bytes: &[u8], random: &mut Rng) -> Vec<u8> {
    let mut left = bytes[..random.below(bytes.len() as u64 + 1) as usize].to_vec();
    for chunk in left.chunks_mut(64) {
        match random.below(4) {
            0 => chunk.fill(0),
            1 => chunk.iter_mut().for_each(|byte| *byte = random.next() as u8),
            _ => {}
        }
    }
    left
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(tailrace_tests::cases(256)))]

    #[test]
    fn prop_no_acknowledged_record_is_lost_by_any_loss_of_power(acts in acts()) {
        let mut memory = MemoryBackend::new();
        let mut backend: Arc<dyn Backend> = Arc::new(memory.clone());
        let (_, mut writer) = reopen(&backend);
        let mut acknowledged = 0;
        for act in acts {
            match act {
                Act::Append => drop(writer.append(payload(writer.next().0)).unwrap()),
                Act::Commit => {
                    writer.commit(Sequence(u64::MAX)).unwrap();
                    acknowledged = writer.next().0;
                }
                Act::Rotate => acknowledged = writer.rotate().unwrap().0,
                Act::Reopen | Act::LosePower(_) => {
                    if let Act::LosePower(seed) = act {
                        let mut random = Rng(seed);
                        memory = memory.after_power_loss(|bytes| torn(bytes, &mut random));
                        backend = Arc::new(memory.clone());
                    }
                    let (records, resumed) = reopen(&backend);
                    check(&records);
                    prop_assert!(records.len() as u64 >= acknowledged);
                    (writer, acknowledged) = (resumed, records.len() as u64);
                }
            }
        }
        tailrace_tests::count_steps(1);
    }
}

#[test]
fn damage_in_front_of_a_mark_is_no_torn_tail() {
    let memory = MemoryBackend::new();
    let backend: Arc<dyn Backend> = Arc::new(memory.clone());
    let (_, writer) = reopen(&backend);
    writer.commit(writer.append(vec![1; 100]).unwrap()).unwrap();
    let file = name("log/00000000000000000000.log");
    let mut bytes = memory.content(&file).unwrap();
    bytes[70] ^= 1;
    memory.replace(&file, bytes);
    let message = replay(&backend, Sequence(0)).unwrap().end().unwrap_err().to_string();
    assert!(
        message.starts_with(
            "record 0 at byte 32 of log/00000000000000000000.log is damaged (checksum mismatch: stored 0x"
        ),
        "{message}"
    );
    assert!(message.ends_with("says that it was whole"), "{message}");
}
