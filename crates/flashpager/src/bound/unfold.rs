//! The code graph of a call with its callees copied for their callers, and the scopes in it.
//!
//! A copy of a function is a context. Small functions have one for each call; others share one among
//! their callers, if the graph were too large otherwise.

use flashpager_base::{Error, Result, shown};
use flashpager_reach::{CodeGraph, Exit, Resumption};

use super::loops::Loops;

/// Most blocks of all contexts.
const MOST_NODES: usize = 3000;
/// Sizes, in blocks with all callees, up to which a function is copied for each call, in the order in
/// which they are tried.
const COPIED_SIZES: [usize; 7] = [usize::MAX, 1000, 400, 150, 60, 20, 0];

/// A block in a context, or the place where a context returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub function: usize,
    /// `None` for the return of the context.
    pub block: Option<usize>,
    /// The innermost scope.
    pub scope: usize,
}

/// A way on from a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    pub from: usize,
    /// The nodes that it leads to: for a call the entry of the callee, and the node behind the call.
    pub into: Vec<usize>,
}

/// A loop, or an execution of a function, in a context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The scope in which all its executions lie.
    pub parent: Option<usize>,
    pub function: usize,
    /// The loop of the function; `None` for the function itself.
    pub number: Option<usize>,
    /// Edges by which it is entered.
    pub entering: Vec<usize>,
    /// The nodes that are executed first.
    pub heads: Vec<usize>,
    /// The function scopes of the contexts that are called in it.
    pub callees: Vec<usize>,
}

/// A graph of contexts. Node 0 is executed first, and scope 0 is the whole call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unfolded {
    pub nodes: Vec<Node>,
    pub edges: Vec<Edge>,
    pub scopes: Vec<Scope>,
    /// Pairs of nodes that are executed one after the other.
    pub steps: Vec<(usize, usize)>,
}

/// A copy of a function.
#[derive(Clone, Copy)]
struct Context {
    first_node: usize,
    /// Its function scope; known as soon as its callers are.
    scope: usize,
}

/// Makes the graph of contexts.
struct Unfolder<'a> {
    graph: &'a CodeGraph,
    loops: &'a [Loops],
    made: Unfolded,
    /// The contexts of each function.
    contexts: Vec<Vec<Context>>,
    /// True for functions with a copy for each call.
    is_copied: Vec<bool>,
}

impl Unfolded {
    /// Unfolds a graph whose functions have these loops.
    ///
    /// # Errors
    /// If a function may call itself.
    pub fn of(graph: &CodeGraph, loops: &[Loops]) -> Result<Self> {
        let order = callers_first(graph)?;
        let is_copied = copied(graph, &order);
        let contexts = vec![Vec::new(); graph.functions.len()];
        let mut unfolder = Unfolder { graph, loops, made: Self::default(), contexts, is_copied };
        unfolder.context(0, None);
        for function in order {
            for number in 0..unfolder.contexts[function].len() {
                unfolder.fill(function, unfolder.contexts[function][number]);
            }
        }
        Ok(unfolder.made)
    }

    /// True if `inner` is the scope `outer` or lies in it.
    pub fn is_within(&self, inner: usize, outer: usize) -> bool {
        self.around(inner).any(|scope| scope == outer)
    }

    /// A scope and those around it, from the inside.
    pub fn around(&self, scope: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(Some(scope), |scope| self.scopes[*scope].parent)
    }

    /// The innermost scope around both.
    fn common(&self, one: usize, other: usize) -> usize {
        self.around(one).find(|scope| self.is_within(other, *scope)).unwrap_or(0)
    }
}

impl Unfolder<'_> {
    /// Makes a context of a function that is called in a scope, or returns the shared one.
    fn context(&mut self, function: usize, caller: Option<usize>) -> Context {
        if !self.is_copied[function]
            && let Some(context) = self.contexts[function].first().copied()
        {
            if let (Some(parent), Some(caller)) = (self.made.scopes[context.scope].parent, caller) {
                self.made.scopes[context.scope].parent = Some(self.made.common(parent, caller));
            }
            return context;
        }
        let first_node = self.made.nodes.len();
        let scope = self.made.scopes.len();
        let blocks = self.graph.functions[function].blocks.len();
        for block in (0..blocks).map(Some).chain([None]) {
            self.made.nodes.push(Node { function, block, scope });
        }
        self.made.scopes.push(Scope {
            parent: caller,
            function,
            number: None,
            entering: Vec::new(),
            heads: vec![first_node],
            callees: Vec::new(),
        });
        let context = Context { first_node, scope };
        self.contexts[function].push(context);
        context
    }

    /// Adds loops, edges and callees of a context.
    fn fill(&mut self, function: usize, context: Context) {
        let loops = &self.loops[function];
        let first_loop = self.made.scopes.len();
        let scope_of =
            |number: Option<usize>| number.map_or(context.scope, |number| first_loop + number);
        for (number, each) in loops.all.iter().enumerate() {
            self.made.scopes.push(Scope {
                parent: Some(scope_of(each.parent)),
                function,
                number: Some(number),
                entering: Vec::new(),
                heads: each.heads.iter().map(|head| context.first_node + head).collect(),
                callees: Vec::new(),
            });
        }
        for (block, innermost) in loops.innermost.iter().enumerate() {
            self.made.nodes[context.first_node + block].scope = scope_of(*innermost);
        }
        let blocks = &self.graph.functions[function].blocks;
        for (block, exits) in blocks.iter().map(|block| &block.exits).enumerate() {
            for exit in exits {
                self.exit(function, context, first_loop, block, *exit);
            }
        }
        // A call that enters the context may be the entry of a loop, too.
        for (number, each) in
            loops.all.iter().enumerate().filter(|(_, each)| each.heads.contains(&0))
        {
            debug_assert!(each.contains[0]);
            let entering = self.made.scopes[context.scope].entering.clone();
            self.made.scopes[first_loop + number].entering.extend(entering);
        }
    }

    /// Adds the edge of an exit.
    fn exit(
        &mut self,
        function: usize,
        context: Context,
        first_loop: usize,
        block: usize,
        exit: Exit,
    ) {
        let blocks = self.graph.functions[function].blocks.len();
        let (from, end) = (context.first_node + block, context.first_node + blocks);
        let edge = self.made.edges.len();
        let mut into = Vec::new();
        let mut next = None;
        match exit {
            Exit::Block(to) => {
                into.push(context.first_node + to);
                self.made.steps.push((from, context.first_node + to));
                next = Some(to);
            }
            Exit::Return => self.made.steps.push((from, end)),
            Exit::Call(callee, resumption) => {
                let scope = self.made.nodes[from].scope;
                let called = self.context(callee, Some(scope));
                into.push(called.first_node);
                self.made.steps.push((from, called.first_node));
                self.made.scopes[called.scope].entering.push(edge);
                let around: Vec<usize> = self
                    .made
                    .around(scope)
                    .take_while(|around| *around != context.scope)
                    .chain([context.scope])
                    .collect();
                for each in around {
                    self.made.scopes[each].callees.push(called.scope);
                }
                let returned = called.first_node + self.graph.functions[callee].blocks.len();
                match resumption {
                    Resumption::Block(to) => {
                        into.push(context.first_node + to);
                        self.made.steps.push((returned, context.first_node + to));
                        next = Some(to);
                    }
                    Resumption::Return => self.made.steps.push((returned, end)),
                    Resumption::Never => {}
                }
            }
        }
        for (number, each) in self.loops[function].all.iter().enumerate() {
            if next.is_some_and(|to| each.contains[to]) && !each.contains[block] {
                self.made.scopes[first_loop + number].entering.push(edge);
            }
        }
        self.made.edges.push(Edge { from, into });
    }
}

/// The callees of a function, once for each call.
fn callees(graph: &CodeGraph, function: usize) -> impl Iterator<Item = usize> + '_ {
    let exits = graph.functions[function].blocks.iter().flat_map(|block| &block.exits);
    exits.filter_map(|exit| match exit {
        Exit::Call(callee, _) => Some(*callee),
        _ => None,
    })
}

/// The functions that the first one calls, each behind its callers.
fn callers_first(graph: &CodeGraph) -> Result<Vec<usize>> {
    let next: Vec<Vec<usize>> =
        (0..graph.functions.len()).map(|function| callees(graph, function).collect()).collect();
    let mut is_open = vec![false; next.len()];
    let mut is_seen = vec![false; next.len()];
    let mut order = Vec::new();
    let mut open = vec![(0, 0)];
    (is_open[0], is_seen[0]) = (true, true);
    while let Some((function, at)) = open.last_mut() {
        let Some(callee) = next[*function].get(*at).copied() else {
            is_open[*function] = false;
            order.push(*function);
            open.pop();
            continue;
        };
        *at += 1;
        if is_open[callee] {
            let start = open.iter().position(|(function, _)| *function == callee).unwrap_or(0);
            let names = open[start..].iter().map(|(function, _)| *function).chain([callee]);
            let names: Vec<&str> =
                names.map(|function| graph.functions[function].name.as_str()).collect();
            return Err(Error::design(format!(
                "{} at {:#x} may call itself ({}), and no bound is known for recursion: name a \
                 function that is called within",
                shown(names[0]),
                graph.functions[callee].address,
                shown(names.join(" -> "))
            )));
        }
        if !is_seen[callee] {
            (is_open[callee], is_seen[callee]) = (true, true);
            open.push((callee, 0));
        }
    }
    order.reverse();
    Ok(order)
}

/// The functions that have a copy for each call: as many as fit.
fn copied(graph: &CodeGraph, order: &[usize]) -> Vec<bool> {
    let mut sizes = vec![0usize; graph.functions.len()];
    let own = |function: usize| graph.functions[function].blocks.len() + 1;
    for function in order.iter().rev().copied() {
        let inside = callees(graph, function).map(|callee| sizes[callee]);
        sizes[function] = inside.fold(own(function), usize::saturating_add);
    }
    let total = |most: usize| {
        let shared =
            order.iter().copied().filter(|function| *function == 0 || sizes[*function] > most);
        let with_copies = |function: usize| {
            let copies =
                callees(graph, function).map(|callee| sizes[callee]).filter(|size| *size <= most);
            copies.fold(own(function), usize::saturating_add)
        };
        shared.map(with_copies).fold(0, usize::saturating_add)
    };
    let most = COPIED_SIZES.into_iter().find(|most| total(*most) <= MOST_NODES).unwrap_or(0);
    sizes.into_iter().map(|size| size <= most).collect()
}
