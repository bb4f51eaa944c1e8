//! The table `[sdr]`.
//!
//! The timing modes are ONFI's, with the values of Linux's `nand_timings.c`.

use serde::{Deserialize, Serialize};

use super::number::Sourced;

/// Declares the AC parameters once: the fields of the table and, where ONFI defines them, the
/// values of timing modes 0 to 5.
macro_rules! parameters {
    ($($(#[$doc:meta])* $name:ident $(= [$($mode:literal),*])?;)*) => {
        /// The table `[sdr]` of a raw NAND part: AC parameters in ns, named as in datasheets. A
        /// parameter that is absent has the value of the timing mode.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        #[serde(deny_unknown_fields)]
        pub struct Sdr {
            /// ONFI SDR timing mode, 0 to 5.
            pub timing_mode: Option<Sourced<u32>>,
            /// Cycles of a whole address; if absent 5, or 4 on small-page chips.
            pub address_cycles: Option<Sourced<u32>>,
            /// Planes that load or program together.
            pub planes: Option<Sourced<u32>>,
            $($(#[$doc])* pub $name: Option<Sourced<f64>>,)*
        }

        impl Sdr {
            /// The AC parameters that the part states, by name.
            pub(crate) fn times(&self) -> impl Iterator<Item = (&'static str, &Sourced<f64>)> {
                [$((stringify!($name), &self.$name)),*]
                    .into_iter()
                    .filter_map(|(name, time)| time.as_ref().map(|time| (name, time)))
            }

            /// The value of a parameter in ns: the part's own, else that of its timing mode. `None`
            /// if neither exists.
            pub fn get(&self, name: &str) -> Option<f64> {
                match name {
                    $(stringify!($name) => self.$name.as_ref().map(|time| time.value).or_else(|| {
                        let modes: &[f64] = &[$($($mode),*)?];
                        let mode = self.timing_mode.as_ref()?.value;
                        modes.get(mode as usize).copied()
                    }),)*
                    _ => None,
                }
            }
        }
    };
}

parameters! {
    /// ALE to data start.
    t_adl_ns = [400.0, 400.0, 400.0, 400.0, 400.0, 400.0];
    /// ALE hold time.
    t_alh_ns = [20.0, 10.0, 10.0, 5.0, 5.0, 5.0];
    /// ALE setup time.
    t_als_ns = [50.0, 25.0, 15.0, 10.0, 10.0, 10.0];
    /// ALE to RE# delay.
    t_ar_ns = [25.0, 10.0, 10.0, 10.0, 10.0, 10.0];
    /// Change column setup time.
    t_ccs_ns = [500.0, 500.0, 500.0, 500.0, 500.0, 500.0];
    /// CE# access time.
    t_cea_ns = [100.0, 45.0, 30.0, 25.0, 25.0, 25.0];
    /// CE# hold time.
    t_ch_ns = [20.0, 10.0, 10.0, 5.0, 5.0, 5.0];
    /// CE# HIGH to output High-Z.
    t_chz_ns = [100.0, 50.0, 50.0, 50.0, 30.0, 30.0];
    /// CLE hold time.
    t_clh_ns = [20.0, 10.0, 10.0, 5.0, 5.0, 5.0];
    /// CLE to RE# delay.
    t_clr_ns = [20.0, 10.0, 10.0, 10.0, 10.0, 10.0];
    /// CLE setup time.
    t_cls_ns = [50.0, 25.0, 15.0, 10.0, 10.0, 10.0];
    /// CE# HIGH to output hold.
    t_coh_ns = [0.0, 15.0, 15.0, 15.0, 15.0, 15.0];
    /// CE# setup time.
    t_cs_ns = [70.0, 35.0, 25.0, 25.0, 20.0, 15.0];
    /// Busy between the planes of a multi-plane command.
    t_dbsy_ns;
    /// Data hold time.
    t_dh_ns = [20.0, 10.0, 5.0, 5.0, 5.0, 5.0];
    /// Data setup time.
    t_ds_ns = [40.0, 20.0, 15.0, 10.0, 10.0, 7.0];
    /// Output High-Z to RE# LOW.
    t_ir_ns = [10.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    /// READ cycle time.
    t_rc_ns = [100.0, 50.0, 35.0, 30.0, 25.0, 20.0];
    /// Cache busy of a cache read (31h), the array being ready.
    t_rcbsy_ns;
    /// RE# access time.
    t_rea_ns = [40.0, 30.0, 25.0, 20.0, 20.0, 16.0];
    /// RE# HIGH hold time.
    t_reh_ns = [30.0, 15.0, 15.0, 10.0, 10.0, 7.0];
    /// RE# HIGH to output hold.
    t_rhoh_ns = [0.0, 15.0, 15.0, 15.0, 15.0, 15.0];
    /// RE# HIGH to WE# LOW.
    t_rhw_ns = [200.0, 100.0, 100.0, 100.0, 100.0, 100.0];
    /// RE# HIGH to output High-Z.
    t_rhz_ns = [200.0, 100.0, 100.0, 100.0, 100.0, 100.0];
    /// RE# LOW to output hold.
    t_rloh_ns = [0.0, 0.0, 0.0, 0.0, 5.0, 5.0];
    /// RE# pulse width.
    t_rp_ns = [50.0, 25.0, 17.0, 15.0, 12.0, 10.0];
    /// Ready to RE# LOW.
    t_rr_ns = [40.0, 20.0, 20.0, 20.0, 20.0, 20.0];
    /// WE# HIGH to busy.
    t_wb_ns = [200.0, 100.0, 100.0, 100.0, 100.0, 100.0];
    /// WRITE cycle time.
    t_wc_ns = [100.0, 45.0, 35.0, 30.0, 25.0, 20.0];
    /// WE# pulse width HIGH.
    t_wh_ns = [30.0, 15.0, 15.0, 10.0, 10.0, 7.0];
    /// WE# HIGH to RE# LOW.
    t_whr_ns = [120.0, 80.0, 80.0, 80.0, 80.0, 80.0];
    /// WE# pulse width.
    t_wp_ns = [50.0, 25.0, 17.0, 15.0, 12.0, 10.0];
}
