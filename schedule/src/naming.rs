//! What ids are called outside their execution.

use std::collections::BTreeMap;

use racehound_trace::{SiteId, Tables, ThreadId};

use crate::{Pending, Point};

/// Names that mean the same in the next run of the program.
pub trait Naming {
    /// A thread's path in the creation tree: `0` is main, `0.2` main's second
    /// child. Numbers and dots, different for every thread.
    fn thread(&self, thread: ThreadId) -> String;

    /// A place in the program. Any text; places that share a name are not
    /// told apart.
    fn site(&self, site: SiteId) -> String;
}

/// Sites by module and offset, which survive a rerun, where they are known;
/// else by whatever is known.
impl Naming for Tables {
    fn thread(&self, thread: ThreadId) -> String {
        self.thread_path(thread)
    }

    fn site(&self, id: SiteId) -> String {
        let site = self.sites.get(id.index());
        let module = site.and_then(|s| Some((self.names.get(s.module?)?, s.offset)));
        match module {
            Some((module, offset)) => format!("{module}+{offset:#x}"),
            None => self.site_name(id),
        }
    }
}

impl<N: Naming + ?Sized> Naming for &N {
    fn thread(&self, thread: ThreadId) -> String {
        (**self).thread(thread)
    }
    fn site(&self, site: SiteId) -> String {
        (**self).site(site)
    }
}

/// Names, each looked up once.
#[derive(Clone, Debug)]
pub(crate) struct Known<N> {
    names: N,
    threads: BTreeMap<ThreadId, String>,
    sites: BTreeMap<SiteId, String>,
}

impl<N: Naming> Known<N> {
    pub(crate) fn new(names: N) -> Self {
        Self {
            names,
            threads: BTreeMap::new(),
            sites: BTreeMap::new(),
        }
    }

    pub(crate) fn thread(&mut self, id: ThreadId) -> &str {
        let name = self.threads.entry(id);
        name.or_insert_with(|| self.names.thread(id))
    }

    /// The thread of this name, if it was seen.
    pub(crate) fn thread_called(&self, name: &str) -> Option<ThreadId> {
        let mut threads = self.threads.iter();
        threads.find(|(_, known)| *known == name).map(|(id, _)| *id)
    }

    pub(crate) fn site(&mut self, id: SiteId) -> &str {
        let name = self.sites.entry(id);
        name.or_insert_with(|| self.names.site(id))
    }

    /// Where somebody stands.
    pub(crate) fn point(&mut self, pending: &Pending) -> Point {
        Point {
            kind: pending.kind(),
            site: self.site(pending.site).to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use racehound_trace::Site;

    use super::*;

    #[test]
    fn a_site_is_called_by_what_stays_the_same() {
        let mut tables = Tables::default();
        let module = Some(tables.names.add("libbank.so"));
        let file = Some(tables.names.add("bank.c"));
        let sites = [None, module].map(|module| {
            tables.add_site(Site {
                file,
                line: 12,
                module,
                offset: 0x1a0,
                ..Site::default()
            })
        });
        let names = sites.map(|site| tables.site(site));
        assert_eq!(names, ["bank.c:12", "libbank.so+0x1a0"]);
    }
}
