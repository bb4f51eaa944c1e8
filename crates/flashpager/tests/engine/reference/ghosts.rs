//! Policies with ghosts: S3-FIFO, ARC and 2Q.

use super::*;

/// S3-FIFO with queues of (page, counter), the oldest first.
pub fn s3_fifo(frames: usize, _: &[u64]) -> Cache {
    let mut small: Vec<(Page, u32)> = Vec::new();
    let mut main: Vec<(Page, u32)> = Vec::new();
    let mut ghosts: Vec<Page> = Vec::new();
    let share = std::cmp::max(1, frames / 10);
    Box::new(move |page, _| {
        let outcome = 'outcome: {
            if let Some((_, counter)) =
                small.iter_mut().chain(&mut main).find(|(cached, _)| *cached == page)
            {
                *counter = std::cmp::min(3, *counter + 1);
                break 'outcome ModelOutcome::Hit;
            }
            let was_ghost = ghosts.contains(&page);
            ghosts.retain(|ghost| *ghost != page);
            let mut walk = 0;
            while small.len() + main.len() == frames {
                walk += 1;
                if small.len() < share {
                    let (oldest, counter) = main.remove(0);
                    if counter > 0 {
                        main.push((oldest, counter - 1));
                    }
                    continue;
                }
                let (oldest, counter) = small.remove(0);
                if counter > 1 {
                    main.push((oldest, 0));
                } else {
                    ghosts.push(oldest);
                    if ghosts.len() > frames - share {
                        ghosts.remove(0);
                    }
                }
            }
            if was_ghost {
                main.push((page, 0));
            } else {
                small.push((page, 0));
            }
            ModelOutcome::Miss { walk, downgrades: 0 }
        };
        let cached = small.iter().chain(&main).map(|(page, _)| *page).collect();
        let counted = |queue: &[(Page, u32)]| {
            written(queue.iter().map(|(page, counter)| format!("{page}({counter})")))
        };
        let kept = [counted(&small), counted(&main), written(&ghosts)];
        ModelStep::all_usable(outcome, cached).keeping(kept)
    })
}

/// ARC as in figure 4 of the paper, over lists with the least recently used page first.
pub fn arc(frames: usize, _: &[u64]) -> Cache {
    #[derive(Default)]
    struct Lists {
        t1: Vec<Page>,
        t2: Vec<Page>,
        b1: Vec<Page>,
        b2: Vec<Page>,
        p: i64,
    }
    impl Lists {
        fn replace(&mut self, page: Page) {
            let t1 = self.t1.len() as i64;
            if t1 >= 1 && (t1 > self.p || (self.b2.contains(&page) && t1 == self.p)) {
                self.b1.push(self.t1.remove(0));
            } else {
                self.b2.push(self.t2.remove(0));
            }
        }
    }
    let c = frames as i64;
    let mut all = Lists::default();
    Box::new(move |x, _| {
        let outcome = {
            let [t1, t2, b1, b2] =
                [&all.t1, &all.t2, &all.b1, &all.b2].map(|list: &Vec<Page>| list.len() as i64);
            let hit = all.t1.contains(&x) || all.t2.contains(&x);
            if hit {
                all.t1.retain(|page| *page != x);
                all.t2.retain(|page| *page != x);
                all.t2.push(x);
            } else if all.b1.contains(&x) {
                all.p = c.min(all.p + if b1 >= b2 { 1 } else { b2 / b1 });
                all.replace(x);
                all.b1.retain(|page| *page != x);
                all.t2.push(x);
            } else if all.b2.contains(&x) {
                all.p = 0.max(all.p - if b2 >= b1 { 1 } else { b1 / b2 });
                all.replace(x);
                all.b2.retain(|page| *page != x);
                all.t2.push(x);
            } else {
                if t1 + b1 == c && t1 < c {
                    all.b1.remove(0);
                    all.replace(x);
                } else if t1 + b1 == c {
                    assert!(all.b1.is_empty());
                    all.t1.remove(0);
                } else if t1 + t2 + b1 + b2 >= c {
                    if t1 + t2 + b1 + b2 == 2 * c {
                        all.b2.remove(0);
                    }
                    all.replace(x);
                }
                all.t1.push(x);
            }
            assert!(all.t1.len() + all.t2.len() <= frames);
            assert!(all.b1.len() + all.b2.len() <= frames);
            if hit { ModelOutcome::Hit } else { MISS }
        };
        let [t1, t2, b1, b2] = [&all.t1, &all.t2, &all.b1, &all.b2].map(written);
        let step = ModelStep::all_usable(outcome, [&all.t1[..], &all.t2[..]].concat());
        step.keeping([t1, t2, b1, b2, all.p.to_string()])
    })
}

/// 2Q. Every list has its oldest page first.
pub fn two_q(frames: usize, _: &[u64]) -> Cache {
    let (mut a1_in, mut a1_out, mut am) = (Vec::new(), Vec::new(), Vec::new());
    let k_in = if frames < 8 { 1 } else { frames / 4 };
    Box::new(move |page, _| {
        let outcome = 'outcome: {
            if am.contains(&page) {
                am.retain(|known| *known != page);
                am.push(page);
                break 'outcome ModelOutcome::Hit;
            }
            if a1_in.contains(&page) {
                break 'outcome ModelOutcome::Hit;
            }
            let missed_before = a1_out.contains(&page);
            a1_out.retain(|known| *known != page);
            if a1_in.len() + am.len() == frames {
                if am.is_empty() || a1_in.len() > k_in {
                    a1_out.push(a1_in.remove(0));
                } else {
                    am.remove(0);
                }
            }
            while 2 * a1_out.len() > frames {
                a1_out.remove(0);
            }
            if missed_before {
                am.push(page)
            } else {
                a1_in.push(page)
            }
            MISS
        };
        ModelStep::all_usable(outcome, [&a1_in[..], &am[..]].concat())
    })
}
