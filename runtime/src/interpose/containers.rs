//! What `std::map`, `std::set` and `std::list` do to their nodes.
//!
//! Most of these containers is in headers, which are instrumented with the program. How nodes
//! are linked and gone through is in the shared library, where no access is seen: who goes on
//! from an element that somebody erases, or moves one in a list that others read. So all of it
//! is done here, access by access, and each is looked at as if the program had made it.
//!
//! The layout of nodes and what links mean are part of the library's binary interface. A tree
//! is as in any textbook (Cormen et al., *Introduction to Algorithms*, red-black trees), below
//! a header that is red and has the root for its parent, the first node on its left and the
//! last on its right.

use std::ptr;

use super::{Call, interpose};

/// Memory of the program, accessed on its behalf, which others may change meanwhile.
struct Memory(Option<Call>);

impl Memory {
    fn begin() -> Self {
        Self(Call::begin())
    }

    unsafe fn load<T: Copy>(&self, at: *const T) -> T {
        if let Some(call) = &self.0 {
            call.reads_value(at);
        }
        // SAFETY: the caller says so.
        unsafe { at.read_volatile() }
    }

    unsafe fn store<T>(&self, at: *mut T, value: T) {
        if let Some(call) = &self.0 {
            call.writes_value(at);
        }
        // SAFETY: the caller says so.
        unsafe { at.write_volatile(value) }
    }
}

/// What an element of a list begins with, and the list itself: it is a ring.
#[repr(C)]
struct Link {
    next: *mut Link,
    previous: *mut Link,
}

/// Lists. All links are those of lists that hold together.
impl Memory {
    unsafe fn next(&self, link: *mut Link) -> *mut Link {
        // SAFETY: as said above.
        unsafe { self.load(&raw const (*link).next) }
    }

    unsafe fn previous(&self, link: *mut Link) -> *mut Link {
        // SAFETY: as said above.
        unsafe { self.load(&raw const (*link).previous) }
    }

    /// One comes after the other.
    unsafe fn join(&self, one: *mut Link, other: *mut Link) {
        // SAFETY: as said above.
        unsafe {
            self.store(&raw mut (*one).next, other);
            self.store(&raw mut (*other).previous, one);
        }
    }

    /// Puts a link before another.
    unsafe fn hook(&self, link: *mut Link, before: *mut Link) {
        // SAFETY: as said above.
        unsafe {
            let previous = self.previous(before);
            self.join(previous, link);
            self.join(link, before);
        }
    }

    unsafe fn unhook(&self, link: *mut Link) {
        // SAFETY: as said above.
        unsafe {
            let (previous, next) = (self.previous(link), self.next(link));
            self.join(previous, next);
        }
    }

    /// Moves what is from one link up to another to the place before a third.
    unsafe fn transfer(&self, before: *mut Link, from: *mut Link, to: *mut Link) {
        if before == to {
            return;
        }
        // SAFETY: as said above.
        unsafe {
            let last = self.previous(to);
            let (ahead, previous) = (self.previous(from), self.previous(before));
            self.join(ahead, to);
            self.join(previous, from);
            self.join(last, before);
        }
    }

    unsafe fn swap(&self, one: *mut Link, other: *mut Link) {
        // SAFETY: as said above.
        unsafe {
            let ends = [one, other].map(|list| (self.next(list), self.previous(list)));
            for (list, from, (first, last)) in [(other, one, ends[0]), (one, other, ends[1])] {
                match first == from {
                    true => self.join(list, list),
                    false => {
                        self.join(list, first);
                        self.join(last, list);
                    }
                }
            }
        }
    }

    unsafe fn reverse(&self, list: *mut Link) {
        let mut link = list;
        loop {
            // SAFETY: as said above.
            let next = unsafe { self.next(link) };
            // SAFETY: as said above.
            unsafe {
                let previous = self.previous(link);
                self.store(&raw mut (*link).next, previous);
                self.store(&raw mut (*link).previous, next);
            }
            link = next;
            if link == list {
                return;
            }
        }
    }
}

/// What an element of a tree begins with, and the tree's header.
#[repr(C)]
struct Node {
    color: Color,
    parent: *mut Node,
    children: [*mut Node; 2],
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
struct Color(u32);

/// In memory that somebody else has freed there may be anything, so it is no enumeration.
impl Color {
    const RED: Self = Self(0);
    const BLACK: Self = Self(1);
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Side {
    Left,
    Right,
}

impl Side {
    fn other(self) -> Self {
        match self {
            Self::Left => Self::Right,
            Self::Right => Self::Left,
        }
    }
}

/// Trees. All nodes are those of trees that hold together.
impl Memory {
    unsafe fn parent(&self, node: *mut Node) -> *mut Node {
        // SAFETY: as said above.
        unsafe { self.load(&raw const (*node).parent) }
    }

    unsafe fn set_parent(&self, node: *mut Node, parent: *mut Node) {
        // SAFETY: as said above.
        unsafe { self.store(&raw mut (*node).parent, parent) }
    }

    unsafe fn child(&self, node: *mut Node, side: Side) -> *mut Node {
        // SAFETY: as said above.
        unsafe { self.load(&raw const (*node).children[side as usize]) }
    }

    unsafe fn set_child(&self, node: *mut Node, side: Side, child: *mut Node) {
        // SAFETY: as said above.
        unsafe { self.store(&raw mut (*node).children[side as usize], child) }
    }

    /// Where there is no node, it is black.
    unsafe fn color(&self, node: *mut Node) -> Color {
        match node.is_null() {
            true => Color::BLACK,
            // SAFETY: as said above.
            false => unsafe { self.load(&raw const (*node).color) },
        }
    }

    unsafe fn paint(&self, node: *mut Node, color: Color) {
        // SAFETY: as said above.
        unsafe { self.store(&raw mut (*node).color, color) }
    }

    /// The last node on one side of those below this one, and it.
    unsafe fn outermost(&self, mut node: *mut Node, side: Side) -> *mut Node {
        loop {
            // SAFETY: as said above.
            let child = unsafe { self.child(node, side) };
            if child.is_null() {
                return node;
            }
            node = child;
        }
    }

    /// The next node on one side; the header, if there is none.
    unsafe fn neighbour(&self, mut node: *mut Node, side: Side) -> *mut Node {
        // SAFETY: as said above.
        unsafe {
            let child = self.child(node, side);
            if !child.is_null() {
                return self.outermost(child, side.other());
            }
            let mut parent = self.parent(node);
            while node == self.child(parent, side) {
                (node, parent) = (parent, self.parent(parent));
            }
            // A root without children there is the header's outermost node, too.
            match self.child(node, side) == parent {
                true => node,
                false => parent,
            }
        }
    }

    unsafe fn successor(&self, node: *mut Node) -> *mut Node {
        // SAFETY: as said above.
        unsafe { self.neighbour(node, Side::Right) }
    }

    /// Before the end, which is the header, is the last node.
    unsafe fn predecessor(&self, node: *mut Node) -> *mut Node {
        // SAFETY: as said above.
        unsafe {
            let is_header = self.color(node) == Color::RED && {
                let parent = self.parent(node);
                self.parent(parent) == node
            };
            match is_header {
                true => self.child(node, Side::Right),
                false => self.neighbour(node, Side::Left),
            }
        }
    }

    /// Puts something in the place that a node has with its parent.
    unsafe fn replace(&self, node: *mut Node, by: *mut Node, header: *mut Node) {
        // SAFETY: as said above.
        unsafe {
            if self.parent(header) == node {
                self.set_parent(header, by);
                return;
            }
            let parent = self.parent(node);
            let side = self.side(node, parent);
            self.set_child(parent, side, by);
        }
    }

    unsafe fn side(&self, node: *mut Node, parent: *mut Node) -> Side {
        // SAFETY: as said above.
        match unsafe { self.child(parent, Side::Left) } == node {
            true => Side::Left,
            false => Side::Right,
        }
    }

    /// Moves a node down to one side; the child on the other side comes into its place.
    unsafe fn rotate(&self, node: *mut Node, down: Side, header: *mut Node) {
        // SAFETY: as said above.
        unsafe {
            let rises = self.child(node, down.other());
            let handed_over = self.child(rises, down);
            self.set_child(node, down.other(), handed_over);
            if !handed_over.is_null() {
                self.set_parent(handed_over, node);
            }
            let parent = self.parent(node);
            self.set_parent(rises, parent);
            self.replace(node, rises, header);
            self.set_child(rises, down, node);
            self.set_parent(node, rises);
        }
    }

    unsafe fn insert(&self, side: Side, node: *mut Node, parent: *mut Node, header: *mut Node) {
        // SAFETY: as said above.
        unsafe {
            self.set_parent(node, parent);
            self.set_child(node, Side::Left, ptr::null_mut());
            self.set_child(node, Side::Right, ptr::null_mut());
            self.paint(node, Color::RED);
            let was_outermost = parent == header || parent == self.child(header, side);
            self.set_child(parent, side, node);
            if parent == header {
                self.set_parent(header, node);
                self.set_child(header, side.other(), node);
            }
            if was_outermost {
                self.set_child(header, side, node);
            }
            self.mend_red(node, header);
        }
    }

    /// A red node may have a red parent.
    unsafe fn mend_red(&self, mut node: *mut Node, header: *mut Node) {
        // SAFETY: as said above. A red parent is no root, so it has one itself.
        unsafe {
            while node != self.parent(header) {
                let mut parent = self.parent(node);
                if self.color(parent) == Color::BLACK {
                    break;
                }
                let above = self.parent(parent);
                let side = self.side(parent, above);
                let uncle = self.child(above, side.other());
                if self.color(uncle) == Color::RED {
                    self.paint(parent, Color::BLACK);
                    self.paint(uncle, Color::BLACK);
                    self.paint(above, Color::RED);
                    node = above;
                    continue;
                }
                if self.child(parent, side) != node {
                    self.rotate(parent, side, header);
                    (node, parent) = (parent, node);
                }
                self.paint(parent, Color::BLACK);
                self.paint(above, Color::RED);
                self.rotate(above, side.other(), header);
            }
            let root = self.parent(header);
            self.paint(root, Color::BLACK);
        }
    }

    unsafe fn erase(&self, node: *mut Node, header: *mut Node) {
        // SAFETY: as said above.
        unsafe {
            let children = [Side::Left, Side::Right].map(|side| self.child(node, side));
            let (rises, below, color);
            match children {
                [left, right] if !left.is_null() && !right.is_null() => {
                    let next = self.outermost(right, Side::Left);
                    rises = self.child(next, Side::Right);
                    below = match next == right {
                        true => next,
                        false => {
                            let parent = self.parent(next);
                            if !rises.is_null() {
                                self.set_parent(rises, parent);
                            }
                            self.set_child(parent, Side::Left, rises);
                            self.set_child(next, Side::Right, right);
                            self.set_parent(right, next);
                            parent
                        }
                    };
                    self.set_child(next, Side::Left, left);
                    self.set_parent(left, next);
                    self.replace(node, next, header);
                    let parent = self.parent(node);
                    self.set_parent(next, parent);
                    color = self.color(next);
                    let instead = self.color(node);
                    self.paint(next, instead);
                }
                [left, right] => {
                    rises = if left.is_null() { right } else { left };
                    below = self.parent(node);
                    color = self.color(node);
                    if !rises.is_null() {
                        self.set_parent(rises, below);
                    }
                    self.replace(node, rises, header);
                    for side in [Side::Left, Side::Right] {
                        if self.child(header, side) == node {
                            let outermost = match rises.is_null() {
                                true => below,
                                false => self.outermost(rises, side),
                            };
                            self.set_child(header, side, outermost);
                        }
                    }
                }
            }
            if color == Color::BLACK {
                self.mend_black(rises, below, header);
            }
        }
    }

    /// On the way to what is now below a node there is one black node too few.
    unsafe fn mend_black(&self, mut node: *mut Node, mut parent: *mut Node, header: *mut Node) {
        // SAFETY: as said above. Where a black node is missing, there is one on the other side.
        unsafe {
            while node != self.parent(header) && self.color(node) == Color::BLACK {
                let side = self.side(node, parent);
                let mut sibling = self.child(parent, side.other());
                if self.color(sibling) == Color::RED {
                    self.paint(sibling, Color::BLACK);
                    self.paint(parent, Color::RED);
                    self.rotate(parent, side, header);
                    sibling = self.child(parent, side.other());
                }
                let (near, far) = (self.child(sibling, side), self.child(sibling, side.other()));
                let is_far_red = self.color(far) == Color::RED;
                if !is_far_red && self.color(near) == Color::BLACK {
                    self.paint(sibling, Color::RED);
                    (node, parent) = (parent, self.parent(parent));
                    continue;
                }
                if !is_far_red {
                    self.paint(near, Color::BLACK);
                    self.paint(sibling, Color::RED);
                    self.rotate(sibling, side.other(), header);
                    sibling = near;
                }
                let color = self.color(parent);
                self.paint(sibling, color);
                self.paint(parent, Color::BLACK);
                let far = self.child(sibling, side.other());
                self.paint(far, Color::BLACK);
                self.rotate(parent, side, header);
                break;
            }
            if !node.is_null() {
                self.paint(node, Color::BLACK);
            }
        }
    }
}

interpose! {
    fn _ZNSt8__detail15_List_node_base7_M_hookEPS0_(link: *mut Link, before: *mut Link) {
        Memory::begin().hook(link, before);
    }

    fn _ZNSt8__detail15_List_node_base9_M_unhookEv(link: *mut Link) {
        Memory::begin().unhook(link);
    }

    fn _ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_(
        before: *mut Link,
        from: *mut Link,
        to: *mut Link,
    ) {
        Memory::begin().transfer(before, from, to);
    }

    fn _ZNSt8__detail15_List_node_base4swapERS0_S1_(one: *mut Link, other: *mut Link) {
        Memory::begin().swap(one, other);
    }

    fn _ZNSt8__detail15_List_node_base10_M_reverseEv(list: *mut Link) {
        Memory::begin().reverse(list);
    }

    fn _ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base(node: *mut Node) -> *mut Node {
        Memory::begin().successor(node)
    }

    fn _ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base(node: *mut Node) -> *mut Node {
        Memory::begin().successor(node)
    }

    fn _ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base(node: *mut Node) -> *mut Node {
        Memory::begin().predecessor(node)
    }

    fn _ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base(node: *mut Node) -> *mut Node {
        Memory::begin().predecessor(node)
    }

    fn _ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_(
        on_the_left: bool,
        node: *mut Node,
        parent: *mut Node,
        header: *mut Node,
    ) {
        let side = if on_the_left { Side::Left } else { Side::Right };
        Memory::begin().insert(side, node, parent, header);
    }

    // The node that is to be freed is the one that is erased.
    fn _ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_(
        node: *mut Node,
        header: *mut Node,
    ) -> *mut Node {
        Memory::begin().erase(node, header);
        node
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use racehound_trace::Rng;

    use super::*;

    const UNSEEN: Memory = Memory(None);

    fn node() -> *mut Node {
        Box::into_raw(Box::new(Node {
            color: Color::RED,
            parent: ptr::null_mut(),
            children: [ptr::null_mut(); 2],
        }))
    }

    /// A tree of numbers; each node has one.
    struct Numbers {
        header: *mut Node,
        nodes: BTreeMap<u64, *mut Node>,
    }

    impl Numbers {
        fn new() -> Self {
            let header = node();
            // SAFETY: just made.
            unsafe { (*header).children = [header; 2] };
            Self {
                header,
                nodes: BTreeMap::new(),
            }
        }

        /// As `std::set` does: below the neighbour that has room on that side.
        fn insert(&mut self, number: u64) {
            let new = node();
            let before = self
                .nodes
                .range(..number)
                .next_back()
                .map(|(_, node)| *node);
            let after = self.nodes.range(number..).next().map(|(_, node)| *node);
            // SAFETY: nodes of this tree.
            unsafe {
                let (side, parent) = match (before, after) {
                    (None, None) => (Side::Left, self.header),
                    (Some(before), _) if (*before).children[1].is_null() => (Side::Right, before),
                    (_, after) => (Side::Left, after.unwrap()),
                };
                UNSEEN.insert(side, new, parent, self.header);
            }
            self.nodes.insert(number, new);
        }

        fn erase(&mut self, number: u64) {
            let node = self.nodes.remove(&number).unwrap();
            // SAFETY: a node of this tree, and nobody's from now on.
            unsafe {
                UNSEEN.erase(node, self.header);
                drop(Box::from_raw(node));
            }
        }

        /// Links, order and colors are as they have to be.
        fn check(&self) {
            let nodes: Vec<*mut Node> = self.nodes.values().copied().collect();
            let header = self.header;
            // SAFETY: nodes of this tree.
            unsafe {
                let first = nodes.first().copied().unwrap_or(header);
                let last = nodes.last().copied().unwrap_or(header);
                assert_eq!((*header).children, [first, last]);
                let (mut up, mut down) = (first, header);
                for (i, node) in nodes.iter().enumerate() {
                    assert_eq!(up, *node);
                    up = UNSEEN.successor(up);
                    down = UNSEEN.predecessor(down);
                    assert_eq!(down, nodes[nodes.len() - 1 - i]);
                }
                assert_eq!(up, header);
                let root = (*header).parent;
                if !root.is_null() {
                    assert_eq!(((*root).color, (*root).parent), (Color::BLACK, header));
                }
                blackness(root);
            }
        }
    }

    impl Drop for Numbers {
        fn drop(&mut self) {
            for node in self.nodes.values().chain([&self.header]) {
                // SAFETY: nobody else has them.
                drop(unsafe { Box::from_raw(*node) });
            }
        }
    }

    /// Black nodes on every way down from a node.
    unsafe fn blackness(node: *mut Node) -> usize {
        if node.is_null() {
            return 0;
        }
        // SAFETY: the caller says so.
        unsafe {
            for child in (*node)
                .children
                .into_iter()
                .filter(|child| !child.is_null())
            {
                assert_eq!((*child).parent, node);
                assert!(((*node).color, (*child).color) != (Color::RED, Color::RED));
            }
            let [left, right] = (*node).children.map(|child| blackness(child));
            assert_eq!(left, right);
            left + usize::from((*node).color == Color::BLACK)
        }
    }

    #[test]
    fn trees_stay_in_order_and_in_balance() {
        for seed in 0..40 {
            let mut rng = Rng::new(seed);
            let mut numbers = Numbers::new();
            let most = 1 + rng.below(60);
            for _ in 0..400 {
                let number = rng.below(most);
                match numbers.nodes.contains_key(&number) {
                    true => numbers.erase(number),
                    false => numbers.insert(number),
                }
                numbers.check();
            }
        }
    }

    /// Lists of letters; capitals are the lists themselves.
    struct Letters(BTreeMap<char, *mut Link>);

    impl Letters {
        fn new(lists: &[&str]) -> Self {
            let mut links = BTreeMap::new();
            for letter in lists.iter().flat_map(|list| list.chars()) {
                let link = Link {
                    next: ptr::null_mut(),
                    previous: ptr::null_mut(),
                };
                links.insert(letter, Box::into_raw(Box::new(link)));
            }
            let letters = Self(links);
            for list in lists {
                let all: Vec<char> = list.chars().collect();
                for (i, letter) in all.iter().enumerate() {
                    let next = letters.at(all[(i + 1) % all.len()]);
                    // SAFETY: just made.
                    unsafe { UNSEEN.join(letters.at(*letter), next) };
                }
            }
            letters
        }

        fn at(&self, letter: char) -> *mut Link {
            self.0[&letter]
        }

        fn list(&self, name: char) -> String {
            let (mut text, mut link) = (String::new(), self.at(name));
            loop {
                let letter = self.0.iter().find(|(_, other)| **other == link);
                text.extend(letter.map(|(letter, _)| *letter));
                // SAFETY: links of these lists.
                unsafe {
                    let next = (*link).next;
                    assert_eq!((*next).previous, link);
                    link = next;
                }
                if link == self.at(name) {
                    return text;
                }
            }
        }
    }

    impl Drop for Letters {
        fn drop(&mut self) {
            for link in self.0.values() {
                // SAFETY: nobody else has them.
                drop(unsafe { Box::from_raw(*link) });
            }
        }
    }

    #[test]
    fn lists_hold_together() {
        let l = Letters::new(&["Aabc", "Bde", "C", "x"]);
        // SAFETY: links of these lists.
        unsafe {
            UNSEEN.hook(l.at('x'), l.at('b'));
            assert_eq!(l.list('A'), "Aaxbc");
            UNSEEN.unhook(l.at('a'));
            assert_eq!(l.list('A'), "Axbc");
            UNSEEN.transfer(l.at('e'), l.at('x'), l.at('c'));
            assert_eq!((l.list('A'), l.list('B')), ("Ac".into(), "Bdxbe".into()));
            UNSEEN.transfer(l.at('d'), l.at('b'), l.at('B'));
            assert_eq!(l.list('B'), "Bbedx");
            UNSEEN.transfer(l.at('B'), l.at('d'), l.at('B'));
            UNSEEN.reverse(l.at('B'));
            assert_eq!(l.list('B'), "Bxdeb");
            UNSEEN.swap(l.at('A'), l.at('B'));
            assert_eq!((l.list('A'), l.list('B')), ("Axdeb".into(), "Bc".into()));
            UNSEEN.swap(l.at('C'), l.at('B'));
            assert_eq!((l.list('B'), l.list('C')), ("B".into(), "Cc".into()));
            UNSEEN.reverse(l.at('B'));
            assert_eq!(l.list('B'), "B");
        }
    }
}
