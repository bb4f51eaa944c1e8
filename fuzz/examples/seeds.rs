//! Writes the binary seeds: `cargo run --example seeds`.

use std::error::Error;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use flashpager::trace::file::METADATA_KEY;
use flashpager::trace::{Run, Trace, TraceFile, TraceInfo, TraceWriter};
use parquet::data_type::Int32Type;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

const SCHEMA: &str = "message trace {
    required int32 offset (INTEGER(32,false));
    required int32 length (INTEGER(32,false));
}";

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/seeds/trace_file"));
    let runs: Vec<Run> =
        (0..40).map(|n| Run { offset: n * n % 23 * 4, length: 4 + n % 5 }).collect();

    let path = folder.join("small.trace");
    let mut writer = TraceWriter::create(&path, false)?;
    for &run in &runs {
        writer.push(run)?;
    }
    let info = TraceInfo { program: "/bin/true".into(), ..TraceInfo::default() };
    let info = writer.finish(info)?;
    TraceFile::open(&path)?.runs()?;

    TraceWriter::create(&folder.join("empty.trace"), false)?.finish(TraceInfo::default())?;

    // Not compressed, so that a changed byte reaches the decoders.
    for (name, dictionary) in [("plain.trace", false), ("dictionary.trace", true)] {
        let properties = WriterProperties::builder().set_dictionary_enabled(dictionary).build();
        let schema = Arc::new(parse_message_type(SCHEMA)?);
        let file = File::create(folder.join(name))?;
        let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties))?;
        for runs in runs.chunks(20) {
            let offsets: Vec<i32> = runs.iter().map(|run| run.offset as i32).collect();
            let lengths: Vec<i32> = runs.iter().map(|run| run.length as i32).collect();
            let mut group = writer.next_row_group()?;
            for values in [&offsets, &lengths] {
                let mut column = group.next_column()?.ok_or("two columns")?;
                column.typed::<Int32Type>().write_batch(values, None, None)?;
                column.close()?;
            }
            group.close()?;
        }
        let json = serde_json::to_string(&info)?;
        writer.append_key_value_metadata(KeyValue::new(METADATA_KEY.to_owned(), json));
        writer.close()?;
    }
    Ok(())
}
