//! Results of tuning as a file that can be shipped.
//!
//! The file is JSON, one object a line. The first says what it is: `format` ([`FORMAT`]), `version` ([`VERSION`]),
//! `records` (how many follow) and `checksum` (blake3 of everything behind the first line, in hexadecimal digits). Each
//! further line is one [`Record`]. A file that is cut short, edited or of a later version is refused as a whole.

use super::Record;

/// What the first line calls the format.
pub const FORMAT: &str = "deuteron tuning results";
/// The version that this build writes; it reads this one and those before.
pub const VERSION: u32 = 1;

/// The first line.
#[derive(serde::Serialize, serde::Deserialize)]
struct Head {
    format: String,
    version: u32,
    records: usize,
    checksum: String,
}

/// The text of a file with these records.
///
/// # Errors
/// When a record cannot be written as JSON.
pub fn write_file(records: &[Record]) -> Result<String, String> {
    let line = |record: &Record| {
        serde_json::to_string(record).map(|text| text + "\n").map_err(|error| error.to_string())
    };
    let body = records.iter().map(line).collect::<Result<String, String>>()?;
    let head = Head {
        format: FORMAT.to_owned(),
        version: VERSION,
        records: records.len(),
        checksum: checksum(&body),
    };
    let head = serde_json::to_string(&head).map_err(|error| error.to_string())?;
    Ok(format!("{head}\n{body}"))
}

fn checksum(body: &str) -> String {
    blake3::hash(body.as_bytes()).to_hex().to_string()
}

/// The records of a file.
///
/// # Errors
/// Says what is wrong with the file.
pub fn read_file(text: &str) -> Result<Vec<Record>, String> {
    let (first, body) = text.split_once('\n').unwrap_or((text, ""));
    let head: Head = serde_json::from_str(first)
        .ok()
        .filter(|head: &Head| head.format == FORMAT)
        .ok_or("this is no file of tuning results: its first line does not say so")?;
    if head.version == 0 || head.version > VERSION {
        return Err(format!(
            "the file has version {} of its format, and this build reads version {VERSION}: use a newer deuteron, or export the \
             results again with this one",
            head.version
        ));
    }
    if checksum(body) != head.checksum {
        return Err("the file is damaged: what it holds does not have the checksum of its first line. Nothing was taken from \
                    it; get it again from where it was exported"
            .to_owned());
    }
    let parse = |(number, line): (usize, &str)| {
        let record: Record =
            serde_json::from_str(line).map_err(|error| format!("line {}: {error}", number + 2))?;
        if record.is_sound() { Ok(record) } else { Err(format!("line {}: a time is no number", number + 2)) }
    };
    let records = body.lines().enumerate().map(parse).collect::<Result<Vec<_>, String>>()?;
    if records.len() != head.records {
        return Err(format!(
            "the file holds {} records, and its first line says {}",
            records.len(),
            head.records
        ));
    }
    Ok(records)
}
