//! What was written comes back: every type, slices, many blocks, compressed or not, whatever else the footer holds.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, new_null_array};
use arrow_schema::{DataType, Field, Schema};
use proptest::prelude::*;
use tailrace_storage::*;

use crate::columns::{columns, schema, types};
use crate::samples::{cache, name, small_columns, small_schema, write_small};

fn round_trip(blocks: &[Vec<ArrayRef>], schema: &arrow_schema::SchemaRef, compression: Compression) {
    let (backend, file) = (MemoryBackend::new(), name("batch/a.batch"));
    let config = StorageConfig { compression, ..StorageConfig::default() };
    let mut writer = BatchWriter::create(&backend, &file, schema, &config).unwrap();
    for (number, block) in blocks.iter().enumerate() {
        let key = [number as u8];
        writer.append(NewBlock { columns: block, first_key: &key, last_key: &key, hashes: &[] }).unwrap();
    }
    let summary = writer.finish(b"more").unwrap();
    let opened = BatchFile::open_expected(&backend, &cache(&config), &summary).unwrap();
    opened.verify().unwrap();
    assert_eq!((opened.schema(), opened.extra()), (schema, &b"more"[..]));
    assert_eq!(opened.rows(), blocks.iter().map(|block| block[0].len() as u64).sum::<u64>());
    for (number, expected) in blocks.iter().enumerate() {
        let block = opened.block(number).unwrap();
        for (found, expected) in block.columns().iter().zip(expected) {
            assert_eq!(found.to_data(), expected.to_data(), "{}", expected.data_type());
        }
    }
}

#[test]
fn every_type_comes_back() {
    for compression in [Compression::None, Compression::Lz4] {
        let blocks: Vec<Vec<ArrayRef>> = (1..9).map(|seed| columns(&schema(), 40, seed)).collect();
        round_trip(&blocks, &schema(), compression);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(tailrace_tests::cases(64)))]

    #[test]
    fn prop_slices_store_just_their_rows(
        index in 0..types().len(), seed: u64, from in 0..30usize, rows in 1..30usize, lz4: bool,
    ) {
        let compression = if lz4 { Compression::Lz4 } else { Compression::None };
        let one = Arc::new(Schema::new(vec![Field::new("x", types()[index].clone(), true)]));
        let whole = columns(&one, 60, seed);
        round_trip(&[vec![whole[0].slice(from, rows)]], &one, compression);
    }
}

#[test]
fn nothing_but_nulls_comes_back() {
    let nulls: Vec<ArrayRef> = types().iter().map(|data_type| new_null_array(data_type, 3)).collect();
    round_trip(&[nulls], &schema(), Compression::None);
}

#[test]
fn a_file_without_blocks_is_a_file() {
    round_trip(&[], &small_schema(), Compression::None);
}

#[test]
fn slices_of_long_texts_take_no_more_room_than_their_rows() {
    let (backend, config) = (MemoryBackend::new(), StorageConfig::default());
    let whole = small_columns(0, 10_000);
    let slice: Vec<ArrayRef> = whole.iter().map(|column| column.slice(5_000, 10)).collect();
    let mut writer = BatchWriter::create(&backend, &name("a"), &small_schema(), &config).unwrap();
    writer.append(NewBlock { columns: &slice, first_key: b"", last_key: b"", hashes: &[] }).unwrap();
    assert!(writer.finish(b"").unwrap().bytes < 4_000);
}

#[test]
fn compression_pays_where_rows_repeat() {
    let backend = MemoryBackend::new();
    let plain = StorageConfig::default();
    let packed = StorageConfig { compression: Compression::Lz4, ..plain.clone() };
    let large = write_small(&backend, &name("plain"), 10, 1_000, &plain).unwrap();
    let small = write_small(&backend, &name("packed"), 10, 1_000, &packed).unwrap();
    assert!(small.bytes < large.bytes / 2, "{} {}", small.bytes, large.bytes);
}

#[test]
fn equal_content_has_equal_bytes() {
    let (backend, config) = (MemoryBackend::new(), StorageConfig::default());
    for file in ["a", "b"] {
        let mut writer = BatchWriter::create(&backend, &name(file), &schema(), &config).unwrap();
        let columns = columns(&schema(), 30, 7);
        writer
            .append(NewBlock { columns: &columns, first_key: b"", last_key: b"", hashes: &[1, 2] })
            .unwrap();
        writer.finish(b"").unwrap();
    }
    assert_eq!(backend.content(&name("a")), backend.content(&name("b")));
}

#[test]
fn what_does_not_fit_is_refused_with_both_sides() {
    let (backend, config) = (MemoryBackend::new(), StorageConfig::default());
    let dictionary = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
    let wrong = Arc::new(Schema::new(vec![Field::new("d", dictionary, true)]));
    let error = BatchWriter::create(&backend, &name("a"), &wrong, &config).err().unwrap();
    assert!(
        error.to_string().starts_with("column 'd' of type Dictionary(Int8, Utf8) cannot be stored"),
        "{error}"
    );

    let mut writer = BatchWriter::create(&backend, &name("a"), &small_schema(), &config).unwrap();
    let check =
        |writer: &mut BatchWriter, columns: &[ArrayRef], first: &[u8], last: &[u8], expected: &str| {
            let block = NewBlock { columns, first_key: first, last_key: last, hashes: &[] };
            let message = writer.append(block).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        };
    let two = small_columns(0, 2);
    let number: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    check(&mut writer, &two[..1], b"", b"", "1 columns, expected 2");
    check(
        &mut writer,
        &[two[0].clone(), two[0].clone()],
        b"",
        b"",
        "column 'name' has type Int64, expected Utf8View",
    );
    check(&mut writer, &[number, two[1].clone()], b"", b"", "column 'name' has 2 rows, expected 1");
    check(&mut writer, &small_columns(0, 0), b"", b"", "0 rows");
    check(&mut writer, &two, b"b", b"a", "its keys end before they begin");
    writer.append(NewBlock { columns: &two, first_key: b"b", last_key: b"c", hashes: &[] }).unwrap();
    check(&mut writer, &two, b"a", b"d", "begins or ends before the block in front of it");
    drop(writer);
    assert_eq!(backend.list("").unwrap(), []);
}
