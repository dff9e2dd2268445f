//! Colours as people who plot with matplotlib write them, as browsers know them.

/// Letters that stand for colours.
const LETTERS: [(&str, &str); 8] = [
    ("b", "blue"),
    ("g", "green"),
    ("r", "red"),
    ("c", "darkcyan"),
    ("m", "darkmagenta"),
    ("y", "goldenrod"),
    ("k", "black"),
    ("w", "white"),
];
/// The usual cycle, `C0` to `C9`, and its names behind `tab:`.
const CYCLE: [(&str, &str); 10] = [
    ("blue", "#1f77b4"),
    ("orange", "#ff7f0e"),
    ("green", "#2ca02c"),
    ("red", "#d62728"),
    ("purple", "#9467bd"),
    ("brown", "#8c564b"),
    ("pink", "#e377c2"),
    ("gray", "#7f7f7f"),
    ("olive", "#bcbd22"),
    ("cyan", "#17becf"),
];
/// Names of CSS.
const NAMES: &str = "aliceblue antiquewhite aqua aquamarine azure beige bisque black blanchedalmond blue blueviolet brown \
    burlywood cadetblue chartreuse chocolate coral cornflowerblue cornsilk crimson cyan darkblue darkcyan \
    darkgoldenrod darkgray darkgreen darkgrey darkkhaki darkmagenta darkolivegreen darkorange darkorchid \
    darkred darksalmon darkseagreen darkslateblue darkslategray darkslategrey darkturquoise darkviolet \
    deeppink deepskyblue dimgray dimgrey dodgerblue firebrick floralwhite forestgreen fuchsia gainsboro \
    ghostwhite gold goldenrod gray green greenyellow grey honeydew hotpink indianred indigo ivory khaki \
    lavender lavenderblush lawngreen lemonchiffon lightblue lightcoral lightcyan lightgoldenrodyellow \
    lightgray lightgreen lightgrey lightpink lightsalmon lightseagreen lightskyblue lightslategray \
    lightslategrey lightsteelblue lightyellow lime limegreen linen magenta maroon mediumaquamarine \
    mediumblue mediumorchid mediumpurple mediumseagreen mediumslateblue mediumspringgreen mediumturquoise \
    mediumvioletred midnightblue mintcream mistyrose moccasin navajowhite navy oldlace olive olivedrab \
    orange orangered orchid palegoldenrod palegreen paleturquoise palevioletred papayawhip peachpuff peru \
    pink plum powderblue purple rebeccapurple red rosybrown royalblue saddlebrown salmon sandybrown seagreen \
    seashell sienna silver skyblue slateblue slategray slategrey snow springgreen steelblue tan teal thistle \
    tomato turquoise violet wheat white whitesmoke yellow yellowgreen";

/// A colour that is safe inside an attribute and that browsers draw; `None` for what is none.
pub(super) fn colour(given: &str) -> Option<String> {
    let given = given.trim();
    let row = |rows: &[(&str, &str)], name: &str| {
        rows.iter().find(|(known, _)| *known == name).map(|(_, colour)| (*colour).to_owned())
    };
    let turn =
        || given.strip_prefix('C')?.parse::<usize>().ok().map(|turn| CYCLE[turn % CYCLE.len()].1.to_owned());
    let tab = || row(&CYCLE, &given.strip_prefix("tab:")?.replace("grey", "gray"));
    let gray = || {
        let part = given.parse::<f64>().ok().filter(|gray| (0.0..=1.0).contains(gray))? * 255.0;
        Some(format!("rgb({0},{0},{0})", part.round()))
    };
    let digits = || {
        let digits = given.strip_prefix('#')?;
        let fits =
            [3, 4, 6, 8].contains(&digits.len()) && digits.chars().all(|digit| digit.is_ascii_hexdigit());
        fits.then(|| given.to_owned())
    };
    let named = || {
        let name = given.to_ascii_lowercase();
        NAMES.split(' ').any(|known| known == name).then_some(name)
    };
    row(&LETTERS, given).or_else(turn).or_else(tab).or_else(gray).or_else(digits).or_else(named)
}

#[cfg(test)]
mod tests {
    use super::colour;

    #[test]
    fn what_matplotlib_knows_is_drawn() {
        for (given, drawn) in [
            ("b", Some("blue")),
            ("Lime", Some("lime")),
            ("#FF00aa", Some("#FF00aa")),
            ("tab:purple", Some("#9467bd")),
            ("tab:grey", Some("#7f7f7f")),
            ("C13", Some("#d62728")),
            ("0.5", Some("rgb(128,128,128)")),
            ("2.5", None),
            ("#12345", None),
            ("tab:none", None),
            ("\"/><script>", None),
            ("nosuchcolour", None),
            ("", None),
        ] {
            assert_eq!(colour(given).as_deref(), drawn, "{given}");
        }
    }
}
