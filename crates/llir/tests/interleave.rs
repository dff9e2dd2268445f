//! Loads from shared memory stand a step in front of the products that use them.

use llir::Type;
use llir::passes::{Groups, Mark, MarkCall, interleave};

/// A machine with one kind of product.
struct Fake;

impl Groups for Fake {
    fn is_product(&self, name: &str) -> bool {
        name == "product"
    }

    fn is_load(&self, name: &str) -> bool {
        name == "fetch"
    }

    fn shared(&self) -> u8 {
        3
    }

    fn loads_ahead(&self) -> bool {
        true
    }

    fn mark(&self, mark: Mark) -> Option<MarkCall> {
        let (name, args) = match mark {
            Mark::Fence => return None,
            Mark::SharedLoads(count) => ("arrived", vec![(Type::I32, i64::from(count))]),
            Mark::Loads(count) => ("fetched", vec![(Type::I32, i64::from(count))]),
        };
        Some(MarkCall { name, args })
    }
}

/// The instructions of a block behind the passes, each by its first letter: fetches, loads, products, stores; waits by their number.
fn order(body: &str) -> String {
    let text = format!(
        "declare float @product(float, float, float) memory(none)
declare float @fetch(i32)
define void @k(ptr addrspace(3) %s, i32 %n) {{
bb0:
{body}  ret void
}}
"
    );
    let mut module = llir::read(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    interleave(&mut module, &Fake);
    llir::verify(&module).unwrap_or_else(|errors| panic!("{}\n{module}", errors[0]));
    let of = |line: &str| {
        let waits = |name: &str| {
            let rest = line.split_once(&format!("@{name}(i32 "))?.1;
            Some(format!("[{}]", rest.trim_end_matches(')')))
        };
        let letters = [("@product", "p"), ("@fetch", "f"), (" load ", "l"), ("store ", "s")];
        let letter =
            letters.iter().find(|(word, _)| line.contains(word)).map(|(_, letter)| (*letter).to_owned());
        waits("arrived").or_else(|| waits("fetched")).or(letter).unwrap_or_default()
    };
    let text = module.to_string();
    let block = text.split_once("bb0:").expect("a block").1;
    block.split('}').next().expect("its end").lines().map(of).collect()
}

/// Loads of so many operands, then two sums of products of them, step by step.
fn products(steps: usize) -> String {
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
            body += &format!("  %{number} = call float @product(float %{a}, float %{b}, float {sum})\n");
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
fn loads_stand_a_step_in_front_of_products() {
    assert_eq!(order(&products(3)), "llllllll[4]ppllll[4]pp[0]ppss");
    // One step is left as it is.
    assert_eq!(order(&products(1)), "llllppss");
}

#[test]
fn stores_wait_for_half_of_what_is_fetched() {
    let mut body = String::new();
    for at in 0..4 {
        body += &format!("  %{at} = call float @fetch(i32 {at})\n");
    }
    body += "  %4 = call float @product(float 1.0, float 1.0, float 1.0)\n";
    for at in 0..4 {
        body += &format!("  store float %{at}, ptr addrspace(3) %s, align 4\n");
    }
    assert_eq!(order(&body), "ffffp[2]ss[0]ss");
}

#[test]
fn loads_without_products_are_waited_for_together() {
    let body = "  %0 = load float, ptr addrspace(3) %s, align 4
  %1 = fadd float %0, 1.0
  %2 = getelementptr float, ptr addrspace(3) %s, i32 1
  %3 = load float, ptr addrspace(3) %2, align 4
  %4 = fadd float %1, %3
  store float %4, ptr addrspace(3) %s, align 4
";
    assert_eq!(order(body), "ll[0]s");
}
