//! Any runs, and any bytes.

use super::*;

fn any_runs() -> impl Strategy<Value = Vec<Run>> {
    let run = (any::<u32>(), 1..=MAX_RUN_BYTES, 0..28u32).prop_map(|(offset, length, shift)| {
        let length = (length >> shift.min(23)).max(1);
        run((offset >> shift).min(u32::MAX - length), length)
    });
    prop::collection::vec(run, 0..400)
}

fn path_in(folder: &TempDir) -> PathBuf {
    folder.path().join("a.trace")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn runs_written_are_runs_read(runs in any_runs()) {
        let folder = TempDir::new().unwrap();
        let written = write_trace(&path_in(&folder), &runs, some_info()).unwrap();
        prop_assert_eq!(read_trace(&path_in(&folder)).unwrap(), (written, runs));
    }

    #[test]
    fn csv_becomes_the_same_runs(runs in any_runs(), hex in any::<bool>()) {
        prop_assume!(!runs.is_empty());
        let mut text = String::from("offset,length\n");
        for run in &runs {
            let line = if hex {
                format!("{:#x},{:#x}\n", run.offset, run.length)
            } else {
                format!("{},{}\n", run.offset, run.length)
            };
            text.push_str(&line);
        }
        prop_assert_eq!(import(&text).unwrap().1, runs);
    }

    #[test]
    fn any_bytes_give_a_value_or_one_line(
        head in prop::sample::select(vec![
            "", "I  ", "offset,length\n", "2 ", "FPSTRM01", "PAR1", "IN: \n0x10:  ",
        ]),
        rest in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let data = [head.as_bytes(), &rest].concat();
        if let Err(error) = import(&data) {
            message(Err::<(), _>(error));
        }
        let folder = TempDir::new().unwrap();
        std::fs::write(path_in(&folder), &data).unwrap();
        message(read_trace(&path_in(&folder)));
        message(place(&data));
    }
}
