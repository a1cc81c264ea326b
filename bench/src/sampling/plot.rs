//! The paper's curves, as a page to look at.

use std::fmt::Write;

use super::campaign::Campaign;
use super::subject::Tool;

const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 240.0;
const MARGIN: f64 = 44.0;

/// A line with its name and its class in the style sheet.
struct Curve {
    name: &'static str,
    class: &'static str,
    values: Vec<f64>,
}

/// All plots on one page, without anything from elsewhere.
pub(super) fn page(campaigns: &[Campaign]) -> String {
    let mut page = String::from(
        "<!doctype html><html lang=en><meta charset=utf-8><title>Sampling</title>
<style>
:root{color-scheme:light dark;--ink:#222;--grid:#ddd;--a:#b5521b;--b:#3b6fb6;--c:#2c8a4b}
@media(prefers-color-scheme:dark){:root{--ink:#ddd;--grid:#444;--a:#e8935f;--b:#7fb0ee;--c:#6fd08f}}
body{font:15px/1.4 system-ui,sans-serif;margin:2rem;color:var(--ink)}
figure{display:inline-block;margin:0 2rem 2rem 0}figcaption{font-weight:600}
svg text{fill:var(--ink);font-size:11px}.grid{stroke:var(--grid)}
path{fill:none;stroke-width:2}.a{stroke:var(--a)}.b{stroke:var(--b)}.c{stroke:var(--c)}
text.a{fill:var(--a);stroke:none}text.b{fill:var(--b);stroke:none}text.c{fill:var(--c);stroke:none}
</style><h1>Sampling across threads and executions</h1>
<h2>Overhead of all executions so far, in percent of the runtime that does nothing</h2>\n",
    );
    let classes = ["a", "b", "c"];
    for campaign in campaigns {
        let curves = Tool::LOOKING
            .into_iter()
            .zip(classes)
            .map(|(tool, class)| Curve {
                name: tool.name(),
                class,
                values: (1..=campaign.len())
                    .map(|executions| campaign.overhead(tool, executions) * 100.0)
                    .collect(),
            });
        figure(&mut page, &campaign.name, &curves.collect::<Vec<_>>());
    }
    page += "<h2>Pairs of functions that have met</h2>\n";
    for campaign in campaigns {
        let curve = |name, class, of: fn(&(usize, usize)) -> usize| Curve {
            name,
            class,
            values: campaign
                .pairs
                .iter()
                .map(|pairs| of(pairs) as f64)
                .collect(),
        };
        let curves = [
            curve("ever", "a", |pairs| pairs.0),
            curve("2-frequent", "b", |pairs| pairs.1),
        ];
        figure(&mut page, &campaign.name, &curves);
    }
    page
}

fn figure(page: &mut String, name: &str, curves: &[Curve]) {
    let most = curves
        .iter()
        .flat_map(|curve| &curve.values)
        .fold(1.0, |a: f64, b| a.max(*b));
    let last = curves.first().map_or(1, |curve| curve.values.len()).max(2);
    let x = |i: usize| MARGIN + (WIDTH - 2.0 * MARGIN) * i as f64 / (last - 1) as f64;
    let y = |value: f64| HEIGHT - 24.0 - (HEIGHT - 48.0) * value.max(0.0) / most;
    let _ = writeln!(
        page,
        "<figure><figcaption>{name}</figcaption><svg width={WIDTH} height={HEIGHT} role=img>"
    );
    for quarter in 0..=4 {
        let value = most * f64::from(quarter) / 4.0;
        let at = y(value);
        let _ = writeln!(
            page,
            "<line class=grid x1={MARGIN} x2={:.1} y1={at:.1} y2={at:.1} />\
             <text x={:.1} y={:.1} text-anchor=end>{value:.0}</text>",
            WIDTH - MARGIN,
            MARGIN - 6.0,
            at + 4.0,
        );
    }
    let _ = writeln!(
        page,
        "<text x={:.1} y={:.1}>executions: 1 to {last}</text>",
        MARGIN,
        HEIGHT - 6.0
    );
    for (i, curve) in curves.iter().enumerate() {
        let points = curve.values.iter().enumerate();
        let points: Vec<String> = points
            .map(|(i, value)| format!("{:.1},{:.1}", x(i), y(*value)))
            .collect();
        let class = curve.class;
        let _ = writeln!(
            page,
            "<path class={class} d=\"M{}\" /><text class={class} x={:.1} y=14>{}</text>",
            points.join("L"),
            MARGIN + 90.0 * i as f64,
            curve.name,
        );
    }
    page.push_str("</svg></figure>\n");
}
