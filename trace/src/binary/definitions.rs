//! Table entries to bytes and back.
//!
//! ```text
//! definition = table:u8 length fields[length]
//! ```
//! An optional id is written plus one, with zero for none. A reader skips
//! tables and trailing fields it does not know, so either may be added later.

use super::varint::{self, Bytes};
use crate::id::{FunctionId, Loc, NameId, ThreadId};
use crate::table::{Function, Site, SyncObject, Tables, Thread, Variable};

const NAME: u8 = 1;
const SITE: u8 = 2;
const THREAD: u8 = 3;
const SYNC: u8 = 4;
const FUNCTION: u8 = 5;
const VARIABLE: u8 = 6;

/// How much of each table was written.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Written {
    names: usize,
    sites: usize,
    threads: usize,
    syncs: usize,
    functions: usize,
    variables: usize,
}

impl Written {
    fn all(tables: &Tables) -> Self {
        Self {
            names: tables.names.len(),
            sites: tables.sites.len(),
            threads: tables.threads.len(),
            syncs: tables.syncs.len(),
            functions: tables.functions.len(),
            variables: tables.variables.len(),
        }
    }
}

/// Appends what `tables` has beyond `written`, and returns how many entries
/// that is.
pub(super) fn put_new(out: &mut Vec<u8>, tables: &Tables, written: &mut Written) -> u32 {
    let all = Written::all(tables);
    if all == *written {
        return 0;
    }
    let mut count = 0;
    let mut fields = Vec::new();
    let mut emit = |table: u8, fields: &mut Vec<u8>| {
        out.push(table);
        varint::put(out, fields.len() as u64);
        out.append(fields);
        count += 1;
    };
    for i in written.names..tables.names.len() {
        let name = tables.names.get(NameId::from_index(i)).expect("in range");
        fields.extend_from_slice(name.as_bytes());
        emit(NAME, &mut fields);
    }
    for function in &tables.functions[written.functions..] {
        put_optional(&mut fields, function.name.map(|n| n.0));
        put_optional(&mut fields, function.module.map(|n| n.0));
        varint::put(&mut fields, function.offset);
        emit(FUNCTION, &mut fields);
    }
    for site in &tables.sites[written.sites..] {
        put_optional(&mut fields, site.file.map(|n| n.0));
        varint::put(&mut fields, u64::from(site.line));
        varint::put(&mut fields, u64::from(site.column));
        put_optional(&mut fields, site.function.map(|f| f.0));
        put_optional(&mut fields, site.module.map(|n| n.0));
        varint::put(&mut fields, site.offset);
        put_optional(&mut fields, site.text.map(|n| n.0));
        emit(SITE, &mut fields);
    }
    for thread in &tables.threads[written.threads..] {
        put_optional(&mut fields, thread.parent.map(|t| t.0));
        varint::put(&mut fields, u64::from(thread.ordinal));
        put_optional(&mut fields, thread.name.map(|n| n.0));
        emit(THREAD, &mut fields);
    }
    for sync in &tables.syncs[written.syncs..] {
        put_optional(&mut fields, sync.name.map(|n| n.0));
        put_optional(&mut fields, sync.class.map(|n| n.0));
        emit(SYNC, &mut fields);
    }
    for variable in &tables.variables[written.variables..] {
        put_optional(&mut fields, variable.name.map(|n| n.0));
        if let Some((loc, size)) = variable.extent {
            varint::put(&mut fields, loc.0);
            varint::put(&mut fields, size);
        }
        emit(VARIABLE, &mut fields);
    }
    *written = all;
    count
}

/// Appends one definition to `tables`; `None` if these bytes are not one.
pub(super) fn get(bytes: &mut Bytes<'_>, tables: &mut Tables) -> Option<()> {
    let table = bytes.byte()?;
    let length = usize::try_from(bytes.varint()?).ok()?;
    let mut fields = bytes.split(length)?;
    let names = tables.names.len();
    let name = |fields: &mut Bytes<'_>| optional(fields, names).map(|o| o.map(NameId));
    match table {
        NAME => {
            tables.names.add(std::str::from_utf8(fields.rest()).ok()?);
        }
        FUNCTION => tables.functions.push(Function {
            name: name(&mut fields)?,
            module: name(&mut fields)?,
            offset: fields.varint()?,
        }),
        SITE => tables.sites.push(Site {
            file: name(&mut fields)?,
            line: fields.u32()?,
            column: fields.u32()?,
            function: optional(&mut fields, tables.functions.len())?.map(FunctionId),
            module: name(&mut fields)?,
            offset: fields.varint()?,
            text: name(&mut fields)?,
        }),
        THREAD => tables.threads.push(Thread {
            parent: optional(&mut fields, tables.threads.len())?.map(ThreadId),
            ordinal: fields.u32()?,
            name: name(&mut fields)?,
        }),
        SYNC => tables.syncs.push(SyncObject {
            name: name(&mut fields)?,
            class: name(&mut fields)?,
        }),
        VARIABLE => tables.variables.push(Variable {
            name: name(&mut fields)?,
            extent: match fields.varint() {
                Some(start) => Some((Loc(start), fields.varint()?)),
                None => None,
            },
        }),
        _ => {}
    }
    Some(())
}

fn put_optional(out: &mut Vec<u8>, id: Option<u32>) {
    varint::put(out, id.map_or(0, |id| u64::from(id) + 1));
}

/// An optional id, which must be below `limit`: an entry refers only to
/// entries before it.
fn optional(fields: &mut Bytes<'_>, limit: usize) -> Option<Option<u32>> {
    match fields.varint()? {
        0 => Some(None),
        id if id <= limit as u64 => Some(Some((id - 1) as u32)),
        _ => None,
    }
}
