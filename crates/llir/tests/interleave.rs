//! Loads from shared memory stand a step in front of the dots that use them.

use llir::passes::{Group, Groups, Mark, MarkCall, interleave};
use llir::{Callee, Intrinsic, Purity, Type};

static ARRIVED: Intrinsic = Intrinsic::new("arrived", &[], Purity::Impure);
static FETCHED: Intrinsic = Intrinsic::new("fetched", &[], Purity::Impure);

/// A machine with one matrix instruction, and registers for the loads of the next step or not.
struct Fake {
    loads_ahead: bool,
}

impl Groups for Fake {
    fn group(&self, callee: &Callee) -> Option<Group> {
        match &*callee.name {
            "dot" => Some(Group::Dot),
            "fetch" => Some(Group::Load),
            "exchange" => Some(Group::Exchange),
            _ => None,
        }
    }

    fn shared(&self) -> u8 {
        3
    }

    fn loads_ahead(&self) -> bool {
        self.loads_ahead
    }

    fn mark(&self, mark: Mark) -> Option<MarkCall> {
        let (intrinsic, args) = match mark {
            Mark::Fence => return None,
            Mark::SharedLoads(_) if !self.loads_ahead => return None,
            Mark::SharedLoads(count) => (&ARRIVED, vec![(Type::I32, i64::from(count))]),
            Mark::Loads(count) => (&FETCHED, vec![(Type::I32, i64::from(count))]),
        };
        Some(MarkCall { intrinsic, args })
    }
}

/// The instructions of a block on a machine with registers for what is loaded ahead.
fn order(body: &str) -> String {
    order_on(&Fake { loads_ahead: true }, body)
}

/// The instructions of a block behind the passes, each by its first letter: fetches, loads, dots, stores, exchanges,
/// additions; waits by their number.
fn order_on(machine: &Fake, body: &str) -> String {
    let text = format!(
        "declare float @dot(float, float, float) memory(none)
declare float @fetch(i32)
declare float @exchange(float)
define void @k(ptr addrspace(3) %s, i32 %n) {{
bb0:
{body}  ret void
}}
"
    );
    let mut module = llir::read(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    interleave(&mut module, machine);
    llir::verify(&module).unwrap_or_else(|errors| panic!("{}\n{module}", errors[0]));
    let of = |line: &str| {
        let waits = |name: &str| {
            let rest = line.split_once(&format!("@{name}(i32 "))?.1;
            Some(format!("[{}]", rest.trim_end_matches(')')))
        };
        let letters = [
            ("@dot", "d"),
            ("@fetch", "f"),
            ("@exchange", "x"),
            (" load ", "l"),
            ("store ", "s"),
            ("fadd", "a"),
        ];
        let letter =
            letters.iter().find(|(word, _)| line.contains(word)).map(|(_, letter)| (*letter).to_owned());
        waits("arrived").or_else(|| waits("fetched")).or(letter).unwrap_or_default()
    };
    let text = module.to_string();
    let block = text.split_once("bb0:").expect("a block").1;
    block.split('}').next().expect("its end").lines().map(of).collect()
}

/// Loads of so many operands, then two sums of dots of them, step by step.
fn dots(steps: usize) -> String {
    let mut body = String::new();
    let mut number = 0;
    let mut loads = Vec::new();
    for at in 0..4 * steps {
        body += &format!("  %{number} = getelementptr float, ptr addrspace(3) %s, i32 {at}\n");
        body += &format!("  %{} = load float, ptr addrspace(3) %{number}, align 4\n", number + 1);
        loads.push(number + 1);
        number += 2;
    }
    let mut sums = ["0.0".to_owned(), "0.0".to_owned()];
    for step in 0..steps {
        for (side, sum) in sums.iter_mut().enumerate() {
            let [a, b] = [loads[4 * step + 2 * side], loads[4 * step + 2 * side + 1]];
            body += &format!("  %{number} = call float @dot(float %{a}, float %{b}, float {sum})\n");
            *sum = format!("%{number}");
            number += 1;
        }
    }
    body + &format!(
        "  store float {}, ptr addrspace(3) %s, align 4\n  store float {}, ptr addrspace(3) %s, align 4\n",
        sums[0], sums[1]
    )
}

#[test]
fn loads_stand_a_step_in_front_of_dots() {
    assert_eq!(order(&dots(3)), "llllllll[4]ddllll[4]dd[0]ddss");
    // One step is left as it is.
    assert_eq!(order(&dots(1)), "llllddss");
}

/// Two dots, then a sum of them that lanes exchange and that nothing waits for, then two dots with what was
/// exchanged.
fn two_dots() -> String {
    let load = |number: usize| {
        format!(
            "  %{number} = getelementptr float, ptr addrspace(3) %s, i32 {number}\n  %{} = load float, ptr addrspace(3) %{number}, align 4\n",
            number + 1
        )
    };
    let dot = |number: usize, a: usize, b: usize| {
        format!("  %{number} = call float @dot(float %{a}, float %{b}, float 0.0)\n")
    };
    let mut body: String = (0..8).map(|at| load(2 * at)).collect();
    body += &[dot(16, 1, 3), dot(17, 5, 7), dot(18, 9, 11), dot(19, 13, 15)].concat();
    body += "  %20 = fadd float %16, %17\n  %21 = call float @exchange(float %18)\n";
    body += &(0..4).map(|at| load(22 + 2 * at)).collect::<String>();
    body += &[dot(30, 21, 23), dot(31, 21, 25), dot(32, 21, 27), dot(33, 21, 29)].concat();
    let results = [20, 30, 31, 32, 33].iter();
    body + &results
        .map(|at| format!("  store float %{at}, ptr addrspace(3) %s, align 4\n"))
        .collect::<String>()
}

#[test]
fn what_waits_for_nothing_stands_in_front_of_later_loads() {
    let few = Fake { loads_ahead: false };
    assert_eq!(order_on(&few, &two_dots()), "llllddllllddaxllllddddsssss");
}

#[test]
fn stores_wait_for_half_of_what_is_fetched() {
    let mut body = String::new();
    for at in 0..4 {
        body += &format!("  %{at} = call float @fetch(i32 {at})\n");
    }
    body += "  %4 = call float @dot(float 1.0, float 1.0, float 1.0)\n";
    for at in 0..4 {
        body += &format!("  store float %{at}, ptr addrspace(3) %s, align 4\n");
    }
    assert_eq!(order(&body), "ffffd[2]ss[0]ss");
}

#[test]
fn loads_without_dots_are_waited_for_together() {
    let body = "  %0 = load float, ptr addrspace(3) %s, align 4
  %1 = fadd float %0, 1.0
  %2 = getelementptr float, ptr addrspace(3) %s, i32 1
  %3 = load float, ptr addrspace(3) %2, align 4
  %4 = fadd float %1, %3
  store float %4, ptr addrspace(3) %s, align 4
";
    assert_eq!(order(body), "ll[0]aas");
}
