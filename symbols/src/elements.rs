//! Which element of a variable is at an offset, as the program's source would name it:
//! `forks[2]`, `queue.head`.
//!
//! The way goes down through the variable's type as long as the source has a name for the
//! next step. It ends at what a library keeps to itself: the members of a mutex or a vector
//! tell nobody anything.
//!
//! Unlike the rest of the crate this reads all of the debug information, once: there is no
//! table of variables in it. So files with very much of it are left alone.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use gimli::{AttributeValue, DwTag, EndianSlice, Operation, Section, Unit, UnitOffset};

use crate::dwarf::Reader;

/// An element of a variable, or the variable as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Element {
    /// What to put behind the variable's name: `[2]`, `.head`; empty for the variable.
    pub path: String,
    /// How many bytes it takes; 0 if that is not known.
    pub size: u64,
}

/// More debug information is not read, in bytes.
const LARGEST: usize = 64 << 20;
/// Types within types, at most: damaged ones may be within themselves.
const DEEPEST: usize = 32;
/// Namespaces of libraries.
const LIBRARIES: [&[u8]; 4] = [b"std", b"core", b"alloc", b"__gnu_cxx"];

/// An entry of the debug information: its unit's number, and where it is in there.
type Entry = (usize, UnitOffset);

/// The static variables of a module that have a type.
pub(crate) struct Elements<'a> {
    dwarf: gimli::Dwarf<Reader<'a>>,
    units: Vec<Unit<Reader<'a>>>,
    /// By their address.
    variables: HashMap<u64, Entry>,
    /// Types of libraries.
    closed: HashSet<Entry>,
}

impl<'a> Elements<'a> {
    pub(crate) fn new(dwarf: gimli::Dwarf<Reader<'a>>) -> Option<Self> {
        if dwarf.debug_info.reader().len() > LARGEST {
            return None;
        }
        let mut elements = Self {
            units: Vec::new(),
            variables: HashMap::new(),
            closed: HashSet::new(),
            dwarf,
        };
        let mut headers = elements.dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            if let Ok(unit) = elements.dwarf.unit(header) {
                // What is damaged has fewer variables.
                let _ = elements.index(&unit);
                elements.units.push(unit);
            }
        }
        Some(elements)
    }

    /// Notes the variables and the closed types of the next unit.
    fn index(&mut self, unit: &Unit<Reader<'a>>) -> gimli::Result<()> {
        let number = self.units.len();
        let mut entries = unit.entries_raw(None)?;
        // The depth of the library's namespace that this is in.
        let mut library = None;
        while !entries.is_empty() {
            let (offset, depth) = (entries.next_offset(), entries.next_depth());
            let Some(abbreviation) = entries.read_abbreviation()? else {
                continue;
            };
            if library.is_some_and(|outer| depth <= outer) {
                library = None;
            }
            let attributes = abbreviation.attributes();
            match abbreviation.tag() {
                gimli::DW_TAG_namespace if library.is_none() => {
                    for &attribute in attributes {
                        let attribute = entries.read_attribute(attribute)?;
                        let is_librarys = |name: Reader<'_>| LIBRARIES.contains(&name.slice());
                        if attribute.name() == gimli::DW_AT_name
                            && self
                                .dwarf
                                .attr_string(unit, attribute.value())
                                .is_ok_and(is_librarys)
                        {
                            library = Some(depth);
                        }
                    }
                }
                gimli::DW_TAG_variable => {
                    for &attribute in attributes {
                        let attribute = entries.read_attribute(attribute)?;
                        if attribute.name() == gimli::DW_AT_location
                            && let Some(address) = self.address(unit, attribute.value())
                        {
                            self.variables.insert(address, (number, offset));
                        }
                    }
                }
                tag => {
                    if library.is_some() && is_compound(tag) {
                        self.closed.insert((number, offset));
                    }
                    entries.skip_attributes(attributes)?;
                }
            }
        }
        Ok(())
    }

    /// The address of what is always at the same.
    fn address(
        &self,
        unit: &Unit<Reader<'a>>,
        location: AttributeValue<Reader<'a>>,
    ) -> Option<u64> {
        let AttributeValue::Exprloc(expression) = location else {
            return None;
        };
        let mut operations = expression.operations(unit.encoding());
        let first = operations.next().ok()??;
        // More of them would be a thread's own variable, or a part of one.
        if !matches!(operations.next(), Ok(None)) {
            return None;
        }
        match first {
            Operation::Address { address } => Some(address),
            Operation::AddressIndex { index } => self.dwarf.address(unit, index).ok(),
            _ => None,
        }
    }

    /// The element so many bytes into the variable that starts at an address; nothing if
    /// there is no better name for it than that.
    pub(crate) fn find(&self, start: u64, offset: u64) -> Option<Element> {
        let variable = *self.variables.get(&start)?;
        let mut at = Place {
            ty: self.type_of(variable)?,
            path: String::new(),
            offset,
        };
        for _ in 0..DEEPEST {
            at = match self.step(&at)? {
                Step::Into(next) => next,
                Step::Here => {
                    let size = self.size(at.ty).unwrap_or(0);
                    return Some(Element {
                        path: at.path,
                        size,
                    });
                }
            };
        }
        None
    }

    fn step(&self, at: &Place) -> Option<Step> {
        let tag = self.tag(at.ty)?;
        match tag {
            gimli::DW_TAG_array_type => self.within_array(at),
            tag if is_compound(tag) && !self.closed.contains(&at.ty) => self.among_members(tag, at),
            tag if is_compound(tag) => Some(Step::Here),
            // The second half of a number has no name.
            _ => (at.offset == 0).then_some(Step::Here),
        }
    }

    fn within_array(&self, at: &Place) -> Option<Step> {
        let element = self.type_of(at.ty)?;
        let mut counts = Vec::new();
        self.each_child(at.ty, |tag, entry| {
            if tag == gimli::DW_TAG_subrange_type {
                counts.push(self.count(entry));
            }
        })?;
        // The last index is that of the smallest step. How many there are of the first
        // does not matter.
        let mut stride = self.size(element)?;
        let mut strides = Vec::new();
        for (i, count) in counts.into_iter().enumerate().rev() {
            strides.push(stride);
            if i > 0 {
                stride = stride.checked_mul(count?)?;
            }
        }
        let mut offset = at.offset;
        let mut path = at.path.clone();
        for stride in strides.into_iter().rev() {
            let _ = write!(path, "[{}]", offset.checked_div(stride)?);
            offset %= stride;
        }
        Some(Step::Into(Place {
            ty: element,
            path,
            offset,
        }))
    }

    fn among_members(&self, tag: DwTag, at: &Place) -> Option<Step> {
        // Which of its members a union is at the moment nobody knows.
        if tag == gimli::DW_TAG_union_type {
            return Some(Step::Here);
        }
        let mut found: Option<(u64, DwTag, Entry)> = None;
        self.each_child(at.ty, |tag, entry| {
            if matches!(tag, gimli::DW_TAG_member | gimli::DW_TAG_inheritance)
                && let Some(from) = self.number(entry, gimli::DW_AT_data_member_location)
                && from <= at.offset
                // An empty base comes before what is at the same place.
                && found.is_none_or(|(other, ..)| other <= from)
            {
                found = Some((from, tag, entry));
            }
        })?;
        let Some((from, tag, entry)) = found else {
            return Some(Step::Here);
        };
        let ty = self.type_of(entry)?;
        // Of types that are only declared here the size is not known.
        let size = self.size(ty);
        if size.is_some_and(|size| at.offset - from >= size) {
            return Some(Step::Here);
        }
        let offset = at.offset - from;
        let name = self.text(entry, gimli::DW_AT_name);
        let name = name.filter(|name| !name.starts_with('_'));
        // A base, or something that is only wrapped up.
        let is_nameless = tag == gimli::DW_TAG_inheritance || self.size(at.ty) == size;
        let path = match name {
            Some(name) => format!("{}.{name}", at.path),
            None if is_nameless => at.path.clone(),
            None => return Some(Step::Here),
        };
        Some(Step::Into(Place { ty, path, offset }))
    }

    /// How many elements a dimension of an array has.
    fn count(&self, entry: Entry) -> Option<u64> {
        self.number(entry, gimli::DW_AT_count)
            .or_else(|| self.number(entry, gimli::DW_AT_upper_bound)?.checked_add(1))
    }

    /// The type of an entry, whatever else it is called.
    fn type_of(&self, entry: Entry) -> Option<Entry> {
        let mut entry = self.declared(entry)?;
        for _ in 0..DEEPEST {
            match self.tag(entry)? {
                gimli::DW_TAG_typedef
                | gimli::DW_TAG_const_type
                | gimli::DW_TAG_volatile_type
                | gimli::DW_TAG_atomic_type
                | gimli::DW_TAG_restrict_type => {
                    entry = self.reference(entry, gimli::DW_AT_type)?;
                }
                _ => return Some(entry),
            }
        }
        None
    }

    /// The type that an entry says it has, or that it was declared with elsewhere.
    fn declared(&self, mut entry: Entry) -> Option<Entry> {
        let elsewhere = [gimli::DW_AT_specification, gimli::DW_AT_abstract_origin];
        for _ in 0..DEEPEST {
            if let Some(ty) = self.reference(entry, gimli::DW_AT_type) {
                return Some(ty);
            }
            let mut others = elsewhere.iter();
            entry = others.find_map(|&name| self.reference(entry, name))?;
        }
        None
    }

    fn size(&self, ty: Entry) -> Option<u64> {
        self.size_within(ty, DEEPEST)
    }

    fn size_within(&self, ty: Entry, depth: usize) -> Option<u64> {
        if let Some(size) = self.number(ty, gimli::DW_AT_byte_size) {
            return Some(size);
        }
        match self.tag(ty)? {
            gimli::DW_TAG_array_type if depth > 0 => {
                let mut size = Some(self.size_within(self.type_of(ty)?, depth - 1)?);
                self.each_child(ty, |tag, entry| {
                    if tag == gimli::DW_TAG_subrange_type {
                        let count = self.count(entry);
                        size = size.and_then(|size| size.checked_mul(count?));
                    }
                })?;
                size
            }
            gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type => {
                Some(u64::from(self.units[ty.0].encoding().address_size))
            }
            _ => None,
        }
    }

    fn tag(&self, (unit, offset): Entry) -> Option<DwTag> {
        Some(self.units[unit].entry(offset).ok()?.tag())
    }

    fn value(
        &self,
        (unit, offset): Entry,
        name: gimli::DwAt,
    ) -> Option<AttributeValue<Reader<'a>>> {
        self.units[unit].entry(offset).ok()?.attr_value(name)
    }

    fn number(&self, entry: Entry, name: gimli::DwAt) -> Option<u64> {
        self.value(entry, name)?.udata_value()
    }

    fn text(&self, entry: Entry, name: gimli::DwAt) -> Option<String> {
        let value = self.value(entry, name)?;
        let text: EndianSlice<'_, _> = self.dwarf.attr_string(&self.units[entry.0], value).ok()?;
        Some(text.to_string_lossy().into_owned())
    }

    /// The entry that an attribute refers to, perhaps in another unit.
    fn reference(&self, entry: Entry, name: gimli::DwAt) -> Option<Entry> {
        match self.value(entry, name)? {
            AttributeValue::UnitRef(offset) => Some((entry.0, offset)),
            AttributeValue::DebugInfoRef(offset) => {
                let starts = |unit: &Unit<Reader<'a>>| unit.header.debug_info_offset();
                let after = self
                    .units
                    .partition_point(|unit| starts(unit).is_some_and(|start| start <= offset));
                let unit = after.checked_sub(1)?;
                Some((unit, offset.to_unit_offset(&self.units[unit].header)?))
            }
            _ => None,
        }
    }

    fn each_child(&self, (unit, offset): Entry, mut child: impl FnMut(DwTag, Entry)) -> Option<()> {
        let mut tree = self.units[unit].entries_tree(Some(offset)).ok()?;
        let mut children = tree.root().ok()?.children();
        while let Some(next) = children.next().ok()? {
            let entry = next.entry();
            child(entry.tag(), (unit, entry.offset()));
        }
        Some(())
    }
}

/// How far the way down has come.
struct Place {
    ty: Entry,
    path: String,
    /// What is left of the offset.
    offset: u64,
}

enum Step {
    Into(Place),
    Here,
}

fn is_compound(tag: DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type
    )
}
