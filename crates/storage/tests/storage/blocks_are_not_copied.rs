//! Arrays of a cached block lie in its page: their addresses say so.

use arrow_array::Array;
use arrow_data::ArrayData;
use tailrace_storage::*;

use crate::columns::{columns, schema};
use crate::samples::{cache, name};

fn buffers(data: &ArrayData, visit: &mut impl FnMut(*const u8, usize)) {
    data.buffers().iter().for_each(|buffer| visit(buffer.as_ptr(), buffer.len()));
    data.nulls().iter().for_each(|nulls| visit(nulls.validity().as_ptr(), nulls.validity().len()));
    data.child_data().iter().for_each(|child| buffers(child, visit));
}

#[test]
fn every_buffer_lies_in_the_page_and_is_aligned() {
    for compression in [Compression::None, Compression::Lz4] {
        let (backend, config) =
            (MemoryBackend::new(), StorageConfig { compression, ..StorageConfig::default() });
        let mut writer = BatchWriter::create(&backend, &name("a"), &schema(), &config).unwrap();
        let stored = columns(&schema(), 100, 1);
        writer.append(NewBlock { columns: &stored, first_key: b"", last_key: b"", hashes: &[] }).unwrap();
        writer.finish(b"").unwrap();
        let file = BatchFile::open(&backend, &cache(&config), &name("a")).unwrap();
        let (block, again) = (file.block(0).unwrap(), file.block(0).unwrap());
        let page = block.page().as_ptr() as usize..block.page().as_ptr() as usize + block.page().len();
        let mut count = 0;
        for column in block.columns() {
            buffers(&column.to_data(), &mut |address, length| {
                count += 1;
                let address = address as usize;
                assert!(length == 0 || page.contains(&address) && address + length <= page.end);
                assert_eq!(address % 32, 0);
            });
        }
        assert!(count > 60);
        assert!(std::sync::Arc::ptr_eq(&block, &again), "the second reader gets the same block");
    }
}
