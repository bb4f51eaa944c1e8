//! The clock dividers of common serial controllers, each with its source.

use flashpager_base::{Error, Result, named};

use crate::bus::Bus;
use crate::operation::four_decimals;
use serde::{Deserialize, Serialize};

/// The divisors that a divider has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Divider {
    /// 1, 2, 3, …
    #[default]
    Integer,
    /// 2, 4, 6, …
    Even,
    /// 1, 2, 4, 8, …
    PowerOfTwo,
}

named! {
    Divider: "unknown divider",
    "integer" => Integer,
    "even" => Even,
    "power-of-two" => PowerOfTwo,
}

impl Divider {
    /// The smallest divisor that is at least `least`.
    pub(super) fn from(self, least: f64) -> f64 {
        let least = least.ceil().max(1.0);
        match self {
            Self::Integer => least,
            Self::Even => (least / 2.0).ceil() * 2.0,
            Self::PowerOfTwo => least.log2().ceil().exp2(),
        }
    }
}

/// A serial controller with a known divider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Controller {
    /// Atheros AR71xx to QCA95xx.
    Ath79Spi,
    /// QSPI of SAMA5D2 and SAME70.
    AtmelQspi,
    /// SPI of AT91, SAMA5 and SAM.
    AtmelSpi,
    /// Cadence QSPI: Intel SoC FPGA, TI K3, RZ/N1, JH7110.
    CadenceQspi,
    /// MediaTek MT65xx to MT798x.
    MediatekSpi,
    /// MediaTek MT7621.
    Mt7621Spi,
    /// QSPI of the nRF52840.
    Nrf52Qspi,
    /// ARM PL022: SPI of the RP2040 and others.
    Pl022,
    /// Rockchip RK3036 to RK3588.
    RockchipSpi,
    /// The RP2040's controller for execution in place, a DesignWare SSI.
    Rp2040Ssi,
    /// The RP2350's controller for execution in place.
    Rp2350Qmi,
    /// QUADSPI of the STM32.
    Stm32Qspi,
    /// SPI of the STM32.
    Stm32Spi,
    /// Allwinner A31 and later.
    Sun6iSpi,
}

named! {
    Controller: "unknown controller",
    "ath79-spi" => Ath79Spi,
    "atmel-qspi" => AtmelQspi,
    "atmel-spi" => AtmelSpi,
    "cadence-qspi" => CadenceQspi,
    "mediatek-spi" => MediatekSpi,
    "mt7621-spi" => Mt7621Spi,
    "nrf52-qspi" => Nrf52Qspi,
    "pl022" => Pl022,
    "rockchip-spi" => RockchipSpi,
    "rp2040-ssi" => Rp2040Ssi,
    "rp2350-qmi" => Rp2350Qmi,
    "stm32-qspi" => Stm32Qspi,
    "stm32-spi" => Stm32Spi,
    "sun6i-spi" => Sun6iSpi,
}

/// The divisors of a controller, with their source.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DividerRange {
    /// The kind of divisors.
    pub divider: Divider,
    /// The smallest divisor.
    pub least: f64,
    /// The largest divisor.
    pub most: f64,
    /// The place it was read.
    pub source: &'static str,
}

impl Controller {
    /// The divisors of the controller.
    pub const fn divider_range(self) -> DividerRange {
        let (divider, least, most, source) = match self {
            Self::Ath79Spi => (Divider::Even, 2.0, 128.0, "OpenWrt pull request 3251"),
            Self::AtmelQspi => (Divider::Integer, 1.0, 256.0, "Linux drivers/spi/atmel-quadspi.c"),
            Self::AtmelSpi => (Divider::Integer, 1.0, 255.0, "Linux drivers/spi/spi-atmel.c"),
            Self::CadenceQspi => {
                (Divider::Even, 2.0, 32.0, "Linux drivers/spi/spi-cadence-quadspi.c")
            }
            Self::MediatekSpi => (Divider::Even, 2.0, 131_072.0, "Linux drivers/spi/spi-mt65xx.c"),
            Self::Mt7621Spi => (Divider::Integer, 2.0, 4097.0, "Linux drivers/spi/spi-mt7621.c"),
            Self::Nrf52Qspi => {
                (Divider::Integer, 1.0, 16.0, "nRF52840, register IFCONFIG1: 32 MHz / (n + 1)")
            }
            Self::Pl022 => {
                (Divider::Even, 2.0, 65_024.0, "ARM PL022, registers CPSR (even) and CR0")
            }
            Self::RockchipSpi => (Divider::Even, 2.0, 65_534.0, "Linux drivers/spi/spi-rockchip.c"),
            Self::Rp2040Ssi => (Divider::Even, 2.0, 65_534.0, "DesignWare SSI, register BAUDR"),
            Self::Rp2350Qmi => {
                (Divider::Integer, 1.0, 256.0, "RP2350, register M0_TIMING (CLKDIV)")
            }
            Self::Stm32Qspi => (Divider::Integer, 1.0, 256.0, "Linux drivers/spi/spi-stm32-qspi.c"),
            Self::Stm32Spi => {
                (Divider::PowerOfTwo, 2.0, 256.0, "STM32 SPI, field BR: f_PCLK / 2 to / 256")
            }
            Self::Sun6iSpi => (Divider::Even, 2.0, 512.0, "Linux drivers/spi/spi-sun6i.c (CDR2)"),
        };
        DividerRange { divider, least, most, source }
    }
}

/// A port that makes the clock of the bus from its own clock by a divider.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peripheral {
    /// The clock that is divided.
    #[serde(serialize_with = "super::numbers::as_written")]
    pub clock_mhz: f64,
    /// The kind of divisors; if absent the controller's, or any whole number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub divider: Option<Divider>,
    /// The controller that divides it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<Controller>,
    /// The clock that the driver sets; the fastest that the part allows if absent.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "super::numbers::option_as_written"
    )]
    pub asked_mhz: Option<f64>,
}

impl Peripheral {
    /// A port that divides `clock_mhz` by any whole number.
    pub const fn new(clock_mhz: f64) -> Self {
        Self { clock_mhz, divider: None, controller: None, asked_mhz: None }
    }

    /// The kind of divisors that the port has.
    pub fn divider(self) -> Divider {
        let own = self.controller.map(|controller| controller.divider_range().divider);
        self.divider.or(own).unwrap_or_default()
    }

    /// Checks the numbers.
    ///
    /// # Errors
    /// If a clock is impossible, or the divider is not the controller's.
    pub fn check(self) -> Result<()> {
        super::numbers::positive("peripheral.clock_mhz", self.clock_mhz, 10_000.0)?;
        if let Some(limit_mhz) = self.asked_mhz {
            super::numbers::positive("peripheral.asked_mhz", limit_mhz, 10_000.0)?;
        }
        if let (Some(controller), Some(divider)) = (self.controller, self.divider)
            && controller.divider_range().divider != divider
        {
            return Err(Error::design(format!(
                "peripheral: {controller} divides by {} numbers, not by {divider} ones; give one \
                 of the two",
                controller.divider_range().divider
            )));
        }
        Ok(())
    }

    /// The fastest clock of the port that exceeds neither `most_mhz` nor the clock the driver sets.
    ///
    /// # Errors
    /// If a clock is impossible, or slower than any the port can make.
    pub fn clock_up_to(self, most_mhz: f64) -> Result<f64> {
        self.check()?;
        let wanted = self.wanted_mhz(most_mhz);
        // A rounding error must not turn 72 MHz / 3 into 72 MHz / 4.
        let least = self.clock_mhz / wanted * (1.0 - 1e-9);
        let own = self.controller.map(Controller::divider_range);
        let divisor = self.divider().from(least.max(own.map_or(1.0, |own| own.least)));
        if let (Some(controller), Some(own)) = (self.controller, own)
            && divisor > own.most
        {
            return Err(Error::design(format!(
                "{controller} divides by {} at most ({}): {} MHz do not become {wanted} MHz",
                own.most, own.source, self.clock_mhz
            )));
        }
        Ok(self.clock_mhz / divisor)
    }

    /// Checks that the port makes the clock of `bus`, from its own clock or from the one that the
    /// bus divides.
    ///
    /// # Errors
    /// If no divisor gives that clock.
    pub fn check_makes(self, bus: Bus) -> Result<()> {
        let clock_mhz = if bus.cycles > 1 { bus.clock_mhz } else { self.clock_mhz };
        let wanted = bus.clock_mhz / f64::from(bus.cycles);
        let port = Self { clock_mhz, asked_mhz: None, ..self };
        let made = port.clock_up_to(wanted)?;
        if (made - wanted).abs() <= 1e-6 * wanted {
            return Ok(());
        }
        let port_name = self.controller.map_or_else(|| "the port".to_owned(), |it| it.to_string());
        let divisor = (clock_mhz / made).round();
        Err(Error::design(format!(
            "the bus {bus}: {port_name} divides {clock_mhz} MHz by {} numbers, and none makes {} MHz; take \
             {clock_mhz}MHz/{divisor}-x{}",
            self.divider(),
            four_decimals(wanted),
            bus.width_bits
        )))
    }

    /// The clock wanted from the divider for a part that allows `most_mhz`.
    pub(super) fn wanted_mhz(self, most_mhz: f64) -> f64 {
        self.asked_mhz.map_or(most_mhz, |limit_mhz| limit_mhz.min(most_mhz))
    }
}
