//! Writes files of pages.

use std::path::Path;
use std::sync::Arc;

use flashpager_base::{Error, Result};
use flashpager_trace::columns::{crc32, parquet_error};
use flashpager_trace::output::{DiskReserve, OutputFile};
use flate2::Crc;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{
    ByteArray, ByteArrayType, FixedLenByteArray, FixedLenByteArrayType, Int32Type, Int64Type,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use super::*;

/// A writer of a file of pages, which keeps one row group in memory.
pub struct PagesWriter {
    writer: SerializedFileWriter<OutputFile>,
    place: String,
    page_bytes: u32,
    processes: Vec<i32>,
    mappings: Vec<ByteArray>,
    addresses: Vec<i64>,
    bytes: Vec<FixedLenByteArray>,
    pages: u64,
    checksum: Crc,
}

impl PagesWriter {
    /// Begins the file `path` of pages of `page_bytes`. The file appears when it is finished.
    ///
    /// # Errors
    /// If the file cannot be written, or no page has that size.
    pub fn create(path: &Path, page_bytes: u32) -> Result<Self> {
        check_page_bytes(page_bytes).map_err(Error::Design)?;
        let place = path.display().to_string();
        let output = OutputFile::create(path, DiskReserve::default())?;
        let level = ZstdLevel::try_new(9).map_err(|e| parquet_error(&place, e))?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(level))
            .set_dictionary_enabled(false)
            .set_statistics_enabled(EnabledStatistics::None)
            .set_data_page_size_limit(GROUP_BYTES)
            .set_created_by(format!("flashpager {}", flashpager_base::VERSION))
            .build();
        let schema = format!(
            "message pages {{
                required int32 process (INTEGER(32,false));
                required binary mapping (STRING);
                required int64 address (INTEGER(64,false));
                required fixed_len_byte_array({page_bytes}) bytes;
            }}"
        );
        let schema = parse_message_type(&schema).map_err(|e| parquet_error(&place, e))?;
        let writer = SerializedFileWriter::new(output, Arc::new(schema), Arc::new(properties))
            .map_err(|e| parquet_error(&place, e))?;
        Ok(Self {
            writer,
            place,
            page_bytes,
            processes: Vec::new(),
            mappings: Vec::new(),
            addresses: Vec::new(),
            bytes: Vec::new(),
            pages: 0,
            checksum: Crc::new(),
        })
    }

    /// Appends a page.
    ///
    /// # Errors
    /// If the file cannot be written, or the page has another size.
    pub fn push(&mut self, origin: PageOrigin<'_>, bytes: &[u8]) -> Result<()> {
        if bytes.len() != self.page_bytes as usize {
            return Err(Error::design(format!(
                "a page of {} bytes among pages of {}",
                bytes.len(),
                self.page_bytes
            )));
        }
        let kept = origin.mapping.char_indices().map(|(at, c)| at + c.len_utf8());
        let end = kept.take_while(|end| *end <= MAX_NAME_BYTES).last().unwrap_or(0);
        self.processes.push(origin.process as i32);
        self.mappings.push(origin.mapping[..end].into());
        self.addresses.push(origin.address as i64);
        self.bytes.push(ByteArray::from(bytes.to_vec()).into());
        let origin = PageOrigin { mapping: &origin.mapping[..end], ..origin };
        add_to_checksum(&mut self.checksum, origin, bytes);
        if self.bytes.len() * bytes.len() >= GROUP_BYTES { self.write_group() } else { Ok(()) }
    }

    fn write_group(&mut self) -> Result<()> {
        let mut write = || -> std::result::Result<(), ParquetError> {
            let mut group = self.writer.next_row_group()?;
            if let Some(mut column) = group.next_column()? {
                column.typed::<Int32Type>().write_batch(&self.processes, None, None)?;
                column.close()?;
            }
            if let Some(mut column) = group.next_column()? {
                column.typed::<ByteArrayType>().write_batch(&self.mappings, None, None)?;
                column.close()?;
            }
            if let Some(mut column) = group.next_column()? {
                column.typed::<Int64Type>().write_batch(&self.addresses, None, None)?;
                column.close()?;
            }
            if let Some(mut column) = group.next_column()? {
                column.typed::<FixedLenByteArrayType>().write_batch(&self.bytes, None, None)?;
                column.close()?;
            }
            group.close()?;
            Ok(())
        };
        write().map_err(|e| parquet_error(&self.place, e))?;
        self.pages += self.bytes.len() as u64;
        self.processes.clear();
        self.mappings.clear();
        self.addresses.clear();
        self.bytes.clear();
        Ok(())
    }

    /// Writes the rest and the description, and gives the file its name. The version, the page size
    /// and the number of pages of `info` are set here.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(mut self, mut info: PagesInfo) -> Result<PagesInfo> {
        if !self.bytes.is_empty() {
            self.write_group()?;
        }
        info.schema_version = SCHEMA_VERSION;
        info.page_bytes = self.page_bytes;
        info.pages = self.pages;
        let json =
            serde_json::to_string(&info).map_err(|e| Error::data(&self.place, e.to_string()))?;
        let checksums = format!("{:08x} {:08x}", crc32(json.as_bytes()), self.checksum.sum());
        self.writer.append_key_value_metadata(KeyValue::new(METADATA_KEY.to_owned(), json));
        self.writer.append_key_value_metadata(KeyValue::new(CHECKSUM_KEY.to_owned(), checksums));
        self.writer.into_inner().map_err(|e| parquet_error(&self.place, e))?.finish()?;
        Ok(info)
    }
}
