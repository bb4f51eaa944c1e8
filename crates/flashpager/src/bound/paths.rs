//! The most misses on a way through the graph: a linear program (IPET, Li & Malik, DAC 1995).
//!
//! A variable counts the executions of an edge. Each node is left as often as it is entered, and each
//! loop has as many executions of its heads as its bound allows. A reference that may miss each time
//! counts once an execution; references to a line that stays in the cache during a scope count at
//! most once for each entry of the scope.

use std::collections::BTreeMap;

use flashpager_base::{Error, Result};
use microlp::{ComparisonOp, LinearExpr, OptimizationDirection, Problem, Variable};

use super::unfold::Unfolded;

/// The relative error of the solver that is allowed for.
const ERROR: f64 = 1e-6;

/// References to lines of which each misses at most once for each entry of a scope.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Persistent {
    pub scope: usize,
    /// The nodes that refer to the line.
    pub nodes: Vec<usize>,
}

/// The references that may miss.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Misses {
    /// References of each node that may miss at each execution.
    pub each_time: Vec<u64>,
    /// References that miss once an entry of a scope, with the number of lines with the same ones.
    pub persistent: BTreeMap<Persistent, u64>,
}

/// A limit on executions of the heads of a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeadLimit {
    /// The scopes of the loop, in all contexts.
    pub scopes: Vec<usize>,
    /// Most executions for each entry of one of the scopes.
    pub each_entry: Option<u64>,
    /// Most executions in all.
    pub in_all: Option<u64>,
}

/// A sum of executions of edges, and a number.
#[derive(Default)]
struct Sum {
    edges: BTreeMap<usize, f64>,
    constant: f64,
}

impl Sum {
    fn add(&mut self, other: &Self, factor: f64) {
        for (edge, times) in &other.edges {
            *self.edges.entry(*edge).or_default() += times * factor;
        }
        self.constant += other.constant * factor;
    }
}

/// The executions of nodes and scopes as sums of edges.
struct ExecutionSums<'a> {
    graph: &'a Unfolded,
    /// Edges into each node.
    into: Vec<Vec<usize>>,
    /// Edges out of each node.
    out: Vec<Vec<usize>>,
    /// For each edge, one that is executed as often.
    same: Vec<usize>,
}

impl<'a> ExecutionSums<'a> {
    fn of(graph: &'a Unfolded) -> Self {
        let mut into = vec![Vec::new(); graph.nodes.len()];
        let mut out = vec![Vec::new(); graph.nodes.len()];
        for (number, edge) in graph.edges.iter().enumerate() {
            out[edge.from].push(number);
            for node in &edge.into {
                into[*node].push(number);
            }
        }
        let mut flow = Self { graph, into, out, same: (0..graph.edges.len()).collect() };
        for node in 1..graph.nodes.len() {
            if let ([one], [other]) = (&flow.into[node][..], &flow.out[node][..]) {
                let (one, other) = (flow.first(*one), flow.first(*other));
                flow.same[other] = one;
            }
        }
        flow
    }

    /// The edge that stands for those that are executed as often.
    fn first(&self, mut edge: usize) -> usize {
        while self.same[edge] != edge {
            edge = self.same[edge];
        }
        edge
    }

    fn sum(&self, edges: &[usize], constant: f64) -> Sum {
        let mut sum = Sum { edges: BTreeMap::new(), constant };
        for edge in edges {
            *sum.edges.entry(self.first(*edge)).or_default() += 1.0;
        }
        sum
    }

    /// Executions of a node. The first one is entered once from outside.
    fn node(&self, node: usize) -> Sum {
        self.sum(&self.into[node], f64::from(u8::from(node == 0)))
    }

    /// Entries of a scope.
    fn entries(&self, scope: usize) -> Sum {
        let scope = &self.graph.scopes[scope];
        let is_first = scope.heads.contains(&0);
        self.sum(&scope.entering, f64::from(u8::from(is_first)))
    }

    /// Executions of the heads of a scope.
    fn heads(&self, scope: usize) -> Sum {
        let mut sum = Sum::default();
        for head in &self.graph.scopes[scope].heads {
            sum.add(&self.node(*head), 1.0);
        }
        sum
    }
}

/// The linear program while it is made.
struct LinearProgram {
    problem: Problem,
    /// The variable of each edge that stands for others.
    variables: BTreeMap<usize, Variable>,
}

impl LinearProgram {
    /// Adds the row `sum <= 0`, or `sum = 0`, with further terms.
    fn row(&mut self, sum: &Sum, more: Option<(Variable, f64)>, comparison: ComparisonOp) {
        let mut terms = LinearExpr::empty();
        for (edge, times) in sum.edges.iter().filter(|(_, times)| **times != 0.0) {
            terms.add(self.variables[edge], *times);
        }
        if let Some((variable, factor)) = more {
            terms.add(variable, factor);
        }
        self.problem.add_constraint(terms, comparison, -sum.constant);
    }
}

/// An upper bound of the misses on each way through the graph.
///
/// # Errors
/// If no way keeps to the limits, or the solver fails.
pub fn most_misses(graph: &Unfolded, misses: &Misses, limits: &[HeadLimit]) -> Result<u64> {
    let flow = ExecutionSums::of(graph);
    let mut costs = Sum::default();
    for (node, count) in misses.each_time.iter().enumerate().filter(|(_, count)| **count > 0) {
        costs.add(&flow.node(node), *count as f64);
    }
    let mut problem = Problem::new(OptimizationDirection::Maximize);
    let mut variables = BTreeMap::new();
    for edge in (0..graph.edges.len()).filter(|edge| flow.same[*edge] == *edge) {
        let cost = costs.edges.get(&edge).copied().unwrap_or_default();
        variables.insert(edge, problem.add_var(cost, (0.0, f64::INFINITY)));
    }
    let mut program = LinearProgram { problem, variables };
    for node in (0..graph.nodes.len()).filter(|node| !flow.out[*node].is_empty()) {
        let mut sum = flow.node(node);
        sum.add(&flow.sum(&flow.out[node], 0.0), -1.0);
        if sum.constant != 0.0 || sum.edges.values().any(|times| *times != 0.0) {
            program.row(&sum, None, ComparisonOp::Eq);
        }
    }
    add_limits(&mut program, &flow, limits);
    for (group, lines) in &misses.persistent {
        let count = program.problem.add_var(*lines as f64, (0.0, f64::INFINITY));
        let mut executions = Sum::default();
        for node in &group.nodes {
            executions.add(&flow.node(*node), -1.0);
        }
        program.row(&executions, Some((count, 1.0)), ComparisonOp::Le);
        let mut entries = Sum::default();
        entries.add(&flow.entries(group.scope), -1.0);
        program.row(&entries, Some((count, 1.0)), ComparisonOp::Le);
    }
    let failed = |reason: String| {
        Error::design(format!("no bound: the linear program has no solution ({reason})"))
    };
    let outcome = program.problem.solve().map_err(|error| failed(error.to_string()))?;
    let solution = outcome.into_solution().map_err(|_| failed("it was not finished".into()))?;
    let most = solution.objective() + costs.constant;
    // The optimum is at least that of whole numbers, which are its misses.
    Ok((most + ERROR * (1.0 + most.abs())).floor() as u64)
}

/// Adds the limits on loops.
fn add_limits(program: &mut LinearProgram, flow: &ExecutionSums<'_>, limits: &[HeadLimit]) {
    for limit in limits {
        let mut all = Sum::default();
        for scope in &limit.scopes {
            let heads = flow.heads(*scope);
            all.add(&heads, 1.0);
            if let Some(most) = limit.each_entry {
                let mut sum = heads;
                sum.add(&flow.entries(*scope), -(most as f64));
                program.row(&sum, None, ComparisonOp::Le);
            }
        }
        if let Some(most) = limit.in_all {
            all.constant -= most as f64;
            program.row(&all, None, ComparisonOp::Le);
        }
    }
}
