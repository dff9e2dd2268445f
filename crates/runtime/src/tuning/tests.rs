//! Tests of tuning.

use super::{
    Finals, Measured, Next, Outcome, Record, Results, Sampler, Search, Session, Setting, Strategy, Subject,
    Times, Workers, quantile, read_file, write_file,
};
use crate::cache::{EntryKind, Store};
use crate::knobs::Settings;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

fn times(median: f64) -> Times {
    Times { median, low: median * 0.5, high: median * 2.0 }
}

fn subject(kernel: &str) -> Subject {
    Subject { kernel: kernel.into(), version: "1".into(), ..Subject::default() }
}

fn results(dir: &Path) -> Option<Results> {
    let settings = Settings { cache_dir: Some(dir.to_owned()), ..Settings::current() };
    Some(Results::of(&settings).expect("a temporary folder can be used"))
}

fn texts(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("BLOCK: {number}")).collect()
}

fn points(count: usize) -> Vec<Vec<(String, Setting)>> {
    (0..count).map(|number| vec![("BLOCK".to_owned(), Setting::Number(number as f64))]).collect()
}

fn session(dir: &Path, count: usize) -> Session {
    let search = Search::new(Strategy::Exhaustive, &points(count), None, 0);
    Session::new(subject("k"), texts(count), search, results(dir), 20.0)
}

#[test]
fn every_field_of_a_subject_counts() {
    let base = subject("k");
    let pair = vec![("n".to_owned(), "1".to_owned())];
    let others = [
        Subject { kernel: "l".into(), ..base.clone() },
        Subject { source: "x".into(), ..base.clone() },
        Subject { values: pair.clone(), ..base.clone() },
        Subject { options: pair, ..base.clone() },
        Subject { dtypes: vec!["f".into()], ..base.clone() },
        Subject { method: "m".into(), ..base.clone() },
        Subject { device: "d".into(), ..base.clone() },
        Subject { machine: "m".into(), ..base.clone() },
        Subject { version: "2".into(), ..base.clone() },
    ];
    let mut keys: Vec<_> = others.iter().map(Subject::key).chain([base.key()]).collect();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), 10);
    assert_eq!(base.key(), subject("k").key());
}

#[test]
fn a_tuning_goes_on_where_it_stopped() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let mut first = session(dir.path(), 4);
    assert_eq!(first.next(), [0, 1, 2, 3]);
    first.set(2, Outcome::Timed(times(3.0)));
    first.set(0, Outcome::Failed("too much\nof it".into()));
    drop(first);
    let mut second = session(dir.path(), 4);
    assert_eq!((second.next(), second.tried(), second.has_measured()), (vec![1, 3], 2, false));
    second.set(3, Outcome::Slower(times(9.0)));
    second.set(1, Outcome::Timed(times(1.0)));
    assert_eq!((second.next(), second.best()), (vec![], Some(1)));
    assert_eq!(second.failures(), [(0, "too much\nof it")]);
    assert_eq!(second.failures_text(), "\n  BLOCK: 0: too much");
    assert_eq!(second.progress(), "tuning k: configuration 4 of 4, best so far 1.00 ms (BLOCK: 1)");
    // One more configuration: that one alone is new.
    let mut third = session(dir.path(), 5);
    assert_eq!(third.next(), [4]);
    third.forget();
    assert_eq!(third.next().len(), 5);
    assert_eq!(session(dir.path(), 4).next().len(), 4);
}

#[test]
fn two_sessions_do_not_lose_what_the_other_found() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let (mut one, mut other) = (session(dir.path(), 2), session(dir.path(), 2));
    one.set(0, Outcome::Timed(times(1.0)));
    other.set(1, Outcome::Timed(times(2.0)));
    assert_eq!(session(dir.path(), 2).tried(), 2);
}

#[test]
fn what_many_add_at_once_is_all_there() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let folder = dir.path();
    std::thread::scope(|scope| {
        for own in 0..6 {
            scope.spawn(move || {
                // Each opens the folder anew, as processes do.
                let results = Results::at(Store::open(folder, 1 << 30).expect("a folder"));
                let mut record = Record { subject: subject("k"), measured: Vec::new() };
                for number in 0..20 {
                    record.set(&format!("BLOCK: {own}, {number}"), Outcome::Timed(times(1.0)));
                    results.save(&record).expect("it can be written");
                }
            });
        }
    });
    let known = results(folder).and_then(|results| results.load(&subject("k"))).expect("a record");
    assert_eq!(known.measured.len(), 120);
}

#[test]
fn what_is_no_record_is_none() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let store = Store::open(dir.path(), 1 << 30).expect("a folder");
    let whole = Record {
        subject: subject("k"),
        measured: vec![Measured { configuration: "BLOCK: 0".into(), outcome: Outcome::Timed(times(1.0)) }],
    };
    let text = serde_json::to_string(&whole).expect("plain data");
    let other = text.replace("\"kernel\":\"k\"", "\"kernel\":\"other\"");
    let below_zero = text.replace("1.0", "-1.0");
    let deep = "[".repeat(100_000);
    for payload in [
        "",
        "null",
        "[]",
        "{}",
        "12",
        "{\"subject\":{},\"measured\":{}}",
        &text[1..],
        &other,
        &below_zero,
        &deep,
    ] {
        store.write(EntryKind::Tuning, &subject("k").key(), payload.as_bytes()).expect("writes");
        let mut again = session(dir.path(), 1);
        assert_eq!(again.tried(), 0, "{payload:.60}");
        again.set(0, Outcome::Timed(times(2.0)));
        assert_eq!(session(dir.path(), 1).tried(), 1, "{payload:.60}");
    }
    store.write(EntryKind::Tuning, &subject("k").key(), text.as_bytes()).expect("writes");
    assert_eq!(session(dir.path(), 1).tried(), 1);
}

#[test]
fn damage_on_disk_is_a_miss() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    session(dir.path(), 1).set(0, Outcome::Timed(times(1.0)));
    let files = || {
        let list = |dir: &Path| std::fs::read_dir(dir).expect("a folder").flatten().map(|entry| entry.path());
        list(&dir.path().join("v1")).flat_map(|folder| list(&folder).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    let file = files().pop().expect("one record");
    for cut in [0, 10, 100] {
        let bytes = std::fs::read(&file).unwrap_or_default();
        std::fs::write(&file, &bytes[..bytes.len().min(cut)]).expect("writes");
        let mut again = session(dir.path(), 1);
        assert_eq!(again.tried(), 0);
        again.set(0, Outcome::Timed(times(1.0)));
        assert_eq!(session(dir.path(), 1).tried(), 1);
    }
}

#[test]
fn without_a_cache_nothing_is_kept_and_everything_works() {
    let search = Search::new(Strategy::Exhaustive, &points(1), None, 0);
    let mut alone = Session::new(subject("k"), texts(1), search, None, 20.0);
    alone.set(0, Outcome::Timed(times(1.0)));
    assert_eq!(alone.best(), Some(0));
}

#[test]
fn a_slow_configuration_is_stopped_early() {
    let mut first = Sampler::new(f64::INFINITY, 20.0);
    let mut runs = 0;
    while first.wanted() > 0 {
        let count = first.wanted();
        runs += count;
        first.add(&vec![1.0; count], 0.0);
    }
    assert_eq!((runs, first.is_slower()), (20, false));
    let mut slow = Sampler::new(1.0, 20.0);
    slow.add(&[1.3, 1.3], 0.0);
    assert_eq!(slow.wanted(), 1);
    slow.add(&[9.0], 0.0);
    assert!(slow.wanted() == 0 && slow.is_slower());
    let mut very_slow = Sampler::new(1.0, 20.0);
    very_slow.add(&[4.1], 0.0);
    assert_eq!(very_slow.wanted(), 1);
    very_slow.add(&[4.2], 0.0);
    assert!(very_slow.wanted() == 0 && very_slow.is_slower());
    // One disturbed run does not make it slow.
    let mut disturbed = Sampler::new(1.0, 20.0);
    disturbed.add(&[3.0, 1.0, 1.1], 0.0);
    assert!(disturbed.wanted() > 0 && !disturbed.is_slower());
    let mut long = Sampler::new(f64::INFINITY, 20.0);
    long.add(&[50.0, 50.0, 50.0], 0.0);
    assert_eq!(long.wanted(), 0);
    // A kernel of a millisecond whose caches take ten to empty.
    let mut costly = Sampler::new(f64::INFINITY, 20.0);
    let mut runs = 0;
    while costly.wanted() > 0 {
        let count = costly.wanted();
        runs += count;
        costly.add(&vec![1.0; count], 11.0 * count as f64);
    }
    assert_eq!(runs, 15);
    let short = Sampler::new(f64::INFINITY, 20.0);
    assert!(short.result().is_none());
}

#[test]
fn sampling_ends_whatever_the_times() {
    for time in [0.0, f64::NAN, f64::INFINITY, -1.0, 1e-12, 1e9] {
        let mut sampler = Sampler::new(1.0, 20.0);
        let mut asked = 0;
        while sampler.wanted() > 0 && asked < 1000 {
            let count = sampler.wanted();
            asked += count;
            sampler.add(&vec![time; count], 0.0);
        }
        assert!(asked < 1000, "{time}");
    }
    assert!(quantile(&[], 0.5).is_nan());
    assert_eq!((quantile(&[3.0, 1.0, 2.0], 0.5), quantile(&[1.0, 2.0], 0.25)), (2.0, 1.25));
}

#[test]
fn those_near_the_best_run_again_in_turns() {
    let search = Search::new(Strategy::Exhaustive, &points(4), None, 0);
    let mut session = Session::new(subject("k"), texts(4), search, None, 20.0);
    for (number, time) in [1.0, 1.02, 2.0, 1.04].into_iter().enumerate() {
        session.begin(number);
        while session.wanted(number) > 0 {
            session.add(number, &vec![time; session.wanted(number)], 0.0);
        }
        session.end(number);
    }
    assert!(matches!(session.outcome(2), Some(Outcome::Slower(_))));
    assert_eq!(session.finals(), Finals { runs: vec![(0, 4), (1, 3), (3, 3)], turns: 5 });
    for number in [0, 1, 3] {
        session.add(number, &[if number == 3 { 0.5 } else { 1.0 }; 20], 0.0);
        session.end(number);
    }
    assert_eq!(session.best(), Some(3));
    let nothing = Search::new(Strategy::Exhaustive, &points(1), None, 0);
    assert_eq!(Session::new(subject("k"), texts(1), nothing, None, 20.0).finals(), Finals::default());
}

/// The last round of two equal configurations whose runs take so many milliseconds, and so many with all that is around
/// them.
fn last_round(own: f64, whole: f64) -> (Finals, f64) {
    let search = Search::new(Strategy::Exhaustive, &points(2), None, 0);
    let mut session = Session::new(subject("k"), texts(2), search, None, 20.0);
    for number in 0..2 {
        session.begin(number);
        while session.wanted(number) > 0 {
            let count = session.wanted(number);
            session.add(number, &vec![own; count], whole * count as f64);
        }
        session.end(number);
    }
    let finals = session.finals();
    let runs: usize = finals.runs.iter().map(|(_, runs)| runs * finals.turns).sum();
    (finals, whole * runs as f64)
}

#[test]
fn the_last_round_takes_as_long_as_its_budget_says() {
    // Of two finalists: 40 ms of their own, 200 ms with everything around.
    for own in [0.0, 0.001, 0.01, 0.1, 1.0, 2.0, 4.0] {
        for around in [0.0, 0.01, 0.3, 1.0, 5.0, 12.0, 19.0] {
            let (finals, took) = last_round(own, own + around);
            assert!(took <= 201.0, "{own} ms with {around} ms around: {took} ms in {finals:?}");
            assert!(
                (3..=5).contains(&finals.turns) && finals.runs.iter().all(|(_, runs)| (1..=8).contains(runs))
            );
        }
    }
    // A small kernel whose caches take 9 ms to empty: eight runs in a turn would take 720 ms.
    assert_eq!(last_round(0.01, 9.0).0, Finals { runs: vec![(0, 2), (1, 2)], turns: 5 });
    // Runs that are longer than the whole budget: three are enough, as in the rounds before.
    assert_eq!(last_round(900.0, 910.0).0, Finals { runs: vec![(0, 1), (1, 1)], turns: 3 });
    for time in [f64::NAN, f64::INFINITY] {
        assert_eq!(last_round(time, time).0, Finals::default());
    }
}

/// A space of two numbers and a text, whose fastest point is (5, 6, "b").
fn space() -> (Vec<Vec<(String, Setting)>>, Vec<f64>) {
    let (mut all, mut cost) = (Vec::new(), Vec::new());
    for first in 0..12 {
        for second in 0..12 {
            for kind in ["a", "b"] {
                let number = |value: i32| Setting::Number(f64::from(1 << value));
                let text = Setting::Text(kind.to_owned());
                all.push(vec![
                    ("x".into(), number(first)),
                    ("y".into(), number(second)),
                    ("kind".into(), text),
                ]);
                let away = f64::from((first - 5).pow(2) + (second - 6).pow(2));
                cost.push(1.0 + away * 0.05 + if kind == "a" { 1.0 } else { 0.0 });
            }
        }
    }
    (all, cost)
}

fn searched(strategy: Strategy, budget: usize, seed: u64) -> (Vec<usize>, f64) {
    let (all, cost) = space();
    let search = Search::new(strategy, &all, Some(budget), seed);
    let (mut medians, mut order) = (vec![None; all.len()], Vec::new());
    loop {
        let next = search.next(&medians);
        if next.is_empty() {
            break;
        }
        for number in next {
            assert!(medians[number].is_none(), "nothing is tried twice");
            medians[number] = Some(cost[number]);
            order.push(number);
        }
    }
    let best = medians.iter().flatten().copied().fold(f64::INFINITY, f64::min);
    (order, best)
}

#[test]
fn searches_keep_to_their_budget_and_seed() {
    for strategy in [Strategy::Random, Strategy::Local] {
        let (first, best) = searched(strategy, 60, 7);
        assert_eq!(first.len(), 60);
        assert_eq!((first.clone(), best), searched(strategy, 60, 7));
        assert_ne!(first, searched(strategy, 60, 8).0);
        assert_eq!(searched(strategy, 10_000, 1).1, 1.0, "a budget for everything tries everything");
    }
    assert_eq!(searched(Strategy::Exhaustive, 3, 0).0, (0..288).collect::<Vec<_>>());
}

#[test]
fn local_search_finds_more_than_chance() {
    let mean = |strategy| (0..20).map(|seed| searched(strategy, 60, seed).1).sum::<f64>() / 20.0;
    let (local, random) = (mean(Strategy::Local), mean(Strategy::Random));
    assert!(local < random && local < 1.02, "local {local}, random {random}");
}

#[test]
fn searches_live_with_failures_and_names() {
    let search = Search::new(Strategy::Local, &points(20), Some(12), 3);
    let mut medians = vec![None; 20];
    loop {
        let next = search.next(&medians);
        if next.is_empty() {
            break;
        }
        next.into_iter().for_each(|number| medians[number] = Some(f64::INFINITY));
    }
    assert_eq!(medians.iter().flatten().count(), 12);
    assert!(Search::new(Strategy::Local, &[], None, 0).next(&[]).is_empty());
    assert_eq!(Strategy::parse("local"), Ok(Strategy::Local));
    let error = Strategy::parse("best").expect_err("there is none");
    assert!(error.contains("\"exhaustive\", \"random\", \"local\""), "{error}");
}

#[test]
fn files_are_whole_or_refused() {
    let mut record = Record { subject: subject("k"), measured: Vec::new() };
    record.set("BLOCK: 1", Outcome::Timed(times(0.125)));
    record.set("BLOCK: 2", Outcome::Failed("no \"room\"".into()));
    let text = write_file(&[record.clone(), Record { subject: subject("l"), ..Record::default() }])
        .expect("plain data");
    let read = read_file(&text).expect("it is whole");
    assert_eq!((read.len(), &read[0]), (2, &record));
    assert_eq!(read[0].best().map(|(name, _)| name.to_owned()), Some("BLOCK: 1".to_owned()));
    for cut in [0, 1, 30, text.len() / 2, text.len() - 1] {
        assert!(read_file(&text[..cut]).is_err(), "{cut}");
    }
    for at in (0..text.len()).step_by(7) {
        let mut bytes = text.clone().into_bytes();
        bytes[at] ^= 2;
        // Whatever the damage does to the text, it is no panic, and nothing wrong comes of it.
        if let Ok(read) = read_file(&String::from_utf8_lossy(&bytes)) {
            assert_eq!(read[0], record);
        }
    }
    let later = text.replacen("\"version\":1", "\"version\":2", 1);
    assert!(read_file(&later).is_err_and(|error| error.contains("version 2")));
    assert!(read_file("{}").is_err_and(|error| error.contains("no file of tuning results")));
}

#[test]
fn workers_do_every_job_and_stop_when_they_are_dropped() {
    let jobs = (0..20usize)
        .map(|number| Box::new(move || number * 2) as Box<dyn FnOnce() -> usize + Send>)
        .collect();
    let workers = Workers::start(jobs, || ());
    let mut done = Vec::new();
    loop {
        match workers.next(Duration::from_secs(10)) {
            Next::Done(number, result) => done.push((number, result)),
            Next::Waiting => panic!("jobs that do nothing take ten seconds"),
            Next::Finished => break,
        }
    }
    done.sort_unstable();
    assert_eq!(done, (0..20usize).map(|number| (number, 2 * number)).collect::<Vec<_>>());
    static STARTED: AtomicUsize = AtomicUsize::new(0);
    let slow = || -> Box<dyn FnOnce() + Send> {
        Box::new(|| {
            STARTED.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(20));
        })
    };
    drop(Workers::start((0..1000).map(|_| slow()).collect(), || ()));
    assert!(STARTED.load(Ordering::Relaxed) < 1000);
    let nothing = Workers::<()>::start(Vec::new(), || ());
    assert_eq!(nothing.next(Duration::from_secs(1)), Next::Finished);
}
