//! A pen plotter on a Pico: G-code over USB, three stepper motors, a heated bed.
//!
//! It uses RTIC. By priority, the timer's interrupt makes the motor steps (3), the USB interrupt
//! handles packets (2), and a task plans lines (1). Otherwise the processor sleeps.
#![no_std]
#![no_main]

mod gcode;
mod heater;
mod planner;

use core::arch::asm;
use core::panic::PanicInfo;

#[unsafe(link_section = ".boot2")]
#[used]
pub static BOOT2: [u8; 256] = rp2040_boot2::BOOT_LOADER_W25Q080;

const STOPPED_APPLICATION_EXIT: u32 = 0x20026;
const STOPPED_RUN_TIME_ERROR: u32 = 0x20023;

/// Ends the run, by semihosting.
fn end(reason: u32) -> ! {
    // SAFETY: a breakpoint changes no memory of the program; the debugger handles it.
    unsafe { asm!("bkpt 0xab", in("r0") 0x18, in("r1") reason) };
    loop {
        cortex_m::asm::wfi();
    }
}

#[panic_handler]
fn panic(_: &PanicInfo) -> ! {
    end(STOPPED_RUN_TIME_ERROR)
}

#[rtic::app(device = rp2040_hal::pac, dispatchers = [SW0_IRQ])]
mod app {
    use core::fmt::Write as _;

    use heapless::{Deque, String};
    use rp2040_hal::clocks::init_clocks_and_plls;
    use rp2040_hal::fugit::MicrosDurationU32;
    use rp2040_hal::timer::{Alarm, Alarm0};
    use rp2040_hal::usb::UsbBus;
    use rp2040_hal::{Clock, Timer, Watchdog, pac};
    use usb_device::bus::UsbBusAllocator;
    use usb_device::prelude::*;
    use usbd_serial::SerialPort;

    use crate::gcode::{self, Command};
    use crate::heater::Heater;
    use crate::planner::{Planner, Segment, Stepper};

    const CRYSTAL_HZ: u32 = 12_000_000;
    const HOST_TAKES_BYTES: usize = 512;

    #[shared]
    struct Shared {
        serial: SerialPort<'static, UsbBus>,
        received: Deque<u8, 256>,
        answers: Deque<u8, HOST_TAKES_BYTES>,
        stepper: Stepper,
        heater: Heater,
    }

    #[local]
    struct Local {
        device: UsbDevice<'static, UsbBus>,
        alarm: Alarm0,
        pins: pac::SIO,
        planner: Planner,
        line: String<96>,
        milliseconds: u32,
    }

    #[init(local = [bus: Option<UsbBusAllocator<UsbBus>> = None])]
    fn init(context: init::Context) -> (Shared, Local) {
        let mut chip = context.device;
        let mut watchdog = Watchdog::new(chip.WATCHDOG);
        let clocks = init_clocks_and_plls(
            CRYSTAL_HZ,
            chip.XOSC,
            chip.CLOCKS,
            chip.PLL_SYS,
            chip.PLL_USB,
            &mut chip.RESETS,
            &mut watchdog,
        )
        .ok()
        .expect("the clocks start");
        let mut timer = Timer::new(chip.TIMER, &mut chip.RESETS, &clocks);
        let mut alarm = timer.alarm_0().expect("nobody has it");
        alarm.schedule(MicrosDurationU32::micros(200)).expect("it is near");
        alarm.enable_interrupt();

        let mut systick = context.core.SYST;
        systick.set_clock_source(cortex_m::peripheral::syst::SystClkSource::Core);
        systick.set_reload(clocks.system_clock.freq().to_Hz() / 1000 - 1);
        systick.clear_current();
        systick.enable_counter();
        systick.enable_interrupt();

        let bus = UsbBus::new(
            chip.USBCTRL_REGS,
            chip.USBCTRL_DPRAM,
            clocks.usb_clock,
            true,
            &mut chip.RESETS,
        );
        let bus: &'static _ = context.local.bus.insert(UsbBusAllocator::new(bus));
        let serial = SerialPort::new(bus);
        let device = UsbDeviceBuilder::new(bus, UsbVidPid(0x2e8a, 0x000a))
            .strings(&[StringDescriptors::default().product("plotter")])
            .expect("one language")
            .device_class(usbd_serial::USB_CLASS_CDC)
            .max_packet_size_0(64)
            .expect("a size that USB has")
            .build();
        let shared = Shared {
            serial,
            received: Deque::new(),
            answers: Deque::new(),
            stepper: Stepper::default(),
            heater: Heater::new(),
        };
        let local = Local {
            device,
            alarm,
            pins: chip.SIO,
            planner: Planner::default(),
            line: String::new(),
            milliseconds: 0,
        };
        (shared, local)
    }

    #[idle]
    fn idle(_: idle::Context) -> ! {
        loop {
            cortex_m::asm::wfi();
        }
    }

    /// Makes a step of the motors, and schedules the next one.
    #[task(binds = TIMER_IRQ_0, priority = 3, local = [alarm, pins], shared = [stepper])]
    fn step(mut context: step::Context) {
        context.local.alarm.clear_interrupt();
        let (bits, micros) = context.shared.stepper.lock(Stepper::step);
        let pins = context.local.pins;
        pins.gpio_out_set().write(|w| unsafe { w.bits(bits << 2) });
        // It fails only if the time is too far away, which it never is.
        let _ = context.local.alarm.schedule(MicrosDurationU32::micros(micros));
        pins.gpio_out_clr().write(|w| unsafe { w.bits(bits << 2) });
    }

    /// Receives a packet, and sends answers.
    #[task(binds = USBCTRL_IRQ, priority = 2, local = [device], shared = [serial, received, answers])]
    fn usb(context: usb::Context) {
        let device = context.local.device;
        let shared = context.shared;
        (shared.serial, shared.received, shared.answers).lock(|serial, received, answers| {
            device.poll(&mut [serial]);
            let mut packet = [0; 64];
            if let Ok(count) = serial.read(&mut packet) {
                // The queue has room, because the host waits for an answer before the next line.
                for &byte in &packet[..count] {
                    let _ = received.push_back(byte);
                }
            }
            while let Some(&byte) = answers.front() {
                if serial.write(&[byte]) != Ok(1) {
                    break;
                }
                answers.pop_front();
            }
            let _ = serial.flush();
            if !received.is_empty() {
                let _ = lines::spawn();
            }
        });
    }

    /// Counts milliseconds, and controls the heater every 10 ms.
    #[task(binds = SysTick, priority = 2, local = [milliseconds], shared = [heater])]
    fn tick(mut context: tick::Context) {
        *context.local.milliseconds += 1;
        if *context.local.milliseconds % 10 == 0 {
            context.shared.heater.lock(Heater::step);
        }
    }

    /// Executes received lines: queues their moves, and answers.
    #[task(priority = 1, local = [planner, line], shared = [received, answers, stepper, heater])]
    async fn lines(mut context: lines::Context) {
        let planner = context.local.planner;
        let line = context.local.line;
        while let Some(byte) = context.shared.received.lock(Deque::pop_front) {
            if byte != b'\n' {
                let _ = line.push(byte as char);
                continue;
            }
            let mut answer = String::<96>::new();
            let mut push = |segment: Segment| {
                while context.shared.stepper.lock(|stepper| stepper.is_full()) {
                    cortex_m::asm::wfi();
                }
                context.shared.stepper.lock(|stepper| stepper.push(segment));
            };
            let parsed = gcode::parse(line);
            if let Some((command, words)) = parsed {
                let here = planner.position;
                let to = [
                    words.x.unwrap_or(here[0]),
                    words.y.unwrap_or(here[1]),
                    words.z.unwrap_or(here[2]),
                ];
                planner.feed = words.feed.unwrap_or(planner.feed);
                match command {
                    Command::Line => planner.line(to).into_iter().for_each(&mut push),
                    Command::Arc { clockwise } => {
                        planner.arc(to, words.i, words.j, clockwise, &mut push);
                    }
                    Command::Home => planner.line([0.0; 3]).into_iter().for_each(&mut push),
                    Command::Heat(celsius) => {
                        context.shared.heater.lock(|heater| heater.target = celsius);
                    }
                    Command::Temperature => {
                        let (celsius, target) =
                            context.shared.heater.lock(|heater| (heater.celsius, heater.target));
                        let _ = write!(answer, "B:{celsius:.1} /{target:.1} ");
                    }
                    Command::Position => {
                        let made = context.shared.stepper.lock(|stepper| stepper.made);
                        let [x, y, z] = planner.position;
                        let _ = write!(answer, "X:{x:.3} Y:{y:.3} Z:{z:.3} made {made:?} ");
                    }
                    Command::End => {
                        while !context.shared.stepper.lock(|stepper| stepper.is_idle())
                            || !context.shared.answers.lock(|answers| answers.is_empty())
                        {
                            cortex_m::asm::wfi();
                        }
                        crate::end(crate::STOPPED_APPLICATION_EXIT);
                    }
                    Command::Nothing => planner.halt(),
                    Command::Unknown => {
                        let _ = answer.push_str("unknown command ");
                    }
                }
            } else {
                let _ = write!(answer, "error: '{line}' ");
            }
            let _ = answer.push_str("ok\n");
            line.clear();
            context.shared.answers.lock(|answers| {
                for byte in answer.bytes() {
                    let _ = answers.push_back(byte);
                }
            });
            rtic::pend(pac::Interrupt::USBCTRL_IRQ);
        }
    }
}
