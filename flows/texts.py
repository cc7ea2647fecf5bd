"""What the commands say to a person. Each function turns a report, which `--json` would print as it is, into a few lines."""

from typing import Any

Report = dict[str, Any]


def initialised(r: Report) -> str:
    vectors = f", vectors of {r['dimensions']} dimensions" if r["dimensions"] else ""
    labels = ", with labels" if r["labelled"] else ""
    following = "neighbors" if r["dimensions"] else "embed"
    return f"{r['workspace']}: {r['items']:,} items{vectors}{labels}.\nNext: cccount {following} {r['workspace']}"


def extended(r: Report) -> str:
    return f"{r['added']:,} items added, {r['items']:,} in all.\nNext: cccount embed {r['workspace']}"


def first_frames(r: Report) -> str:
    return f"{r['workspace']}: {r['items']:,} first frames of {r['frames']:,} items.\nNext: cccount neighbors {r['workspace']}"


def embedded(r: Report) -> str:
    failed = r["failed"]
    text = f"{r['items']:,} items embedded with {r['encoder']} ({r['dimensions']} dimensions) in {r['seconds']:.1f} s."
    if failed:
        text += f"\n{len(failed)} could not be read and are left out; the first: {failed[0]['id']}: {failed[0]['reason']}"
    return text


def neighbours(r: Report) -> str:
    kind = f"{r['k']} neighbours each by {r['metric']} similarity ({r['engine']})"
    tiles = f"{r['tiles']:,} tiles, {r['tiles_resumed']:,} of them from before"
    recall = "" if r["recall"] is None else f" Recall on a sample: {r['recall']:.3f}."
    return f"{r['items']:,} items, {kind}; {tiles}; {r['seconds']:.1f} s.{recall}"


def counted(r: Report) -> str:
    if r["estimate"] is None:
        text = f"No estimate yet: between {r['low']:,.0f} and {r['high']:,.0f} clusters, for certain."
    else:
        text = f"About {r['estimate']:,.1f} clusters ({r['level']:.0%} interval {r['low']:,.1f} to {r['high']:,.1f})"
        pages = f", {r['glances']:,} pages" if r["glances"] else ""
        text += f", from {r['questions']:,} answers{pages} and {r['inferred']:,} free ones ({r['method']})."
        if r["clusters_seen"] > 1:
            hours = f"about {r['human_seconds'] / 3600:,.1f} hours of a person's time"
            text += f"\n{r['clusters_seen']:,.0f} clusters were seen; {hours}."
    if r["state"] == "waiting":
        text += f"\n{r['pending']:,} questions wait for people: see `cccount answers export --help`."
    if (forecast := r["forecast"]) is not None and r["state"] in ("waiting", "done"):
        text += f"\n{_forecast(forecast)}"
    if r["state"] == "stopped" and r["forecast_questions"]:
        text += f"\nThe budget is used up, the width not reached: about {r['forecast_questions']:,} questions in all would do."
    if r["contradictions"]:
        text += f"\n{r['contradictions']:,} answers contradict others."
    return "\n".join([text, *r["warnings"]])


def _forecast(f: Report) -> str:
    wanted = f"for ±{f['width'] / 2:.0%}"
    hours = f"{f['hours']:,.1f} hours"
    if not f["guess"]:
        return f"About {f['questions']:,} answers in all, {hours}, {wanted}."
    pages = f" and {f['glances']:,} pages" if f["glances"] else ""
    return (
        f"A guess before the first answers: about {f['questions']:,} answers{pages}, {hours}, {wanted}, if there are some "
        f"{f['clusters']:,} clusters as the vectors suggest. It may be wrong by a factor of ten; answers soon refine it."
    )


_STEADY = 20  # answers in a row that change nothing, from which it is worth a word


def grouped(r: Report) -> str:
    text = f"{r['clusters']:,} groups, from {r['questions']:,} answers and {r['inferred']:,} free ones ({r['method']})."
    if r["expected_classes"] is not None:
        text += f" As a count: about {r['expected_classes']:,.0f} classes: probable parts of other groups are not counted."
    if r["steady_answers"] is not None and r["steady_answers"] >= _STEADY:
        text += f" The last {r['steady_answers']:,} answers left the groups as they were."
    if "nmi" in r:
        text += f" Agreement with the labels: NMI {r['nmi']:.3f}, ARI {r['ari']:.3f}."
    if r["warning"]:
        text += f"\nTake care: {r['warning']}."
    if r["state"] == "waiting":
        text += f"\n{r['pending']:,} questions wait for people: see `cccount answers export --help`."
    return f"{text}\n{r['labels']}"


def subclustered(r: Report) -> str:
    origin = f" (K = {r['clusters']:,} from the campaign {r['clusters_from']!r})" if r["clusters_from"] else ""
    text = f"{r['subclusters']:,} subclusters of up to {r['size']} images{origin}, {r['checked']:,} images checked, "
    text += f"from {r['questions']:,} answers and {r['inferred']:,} free ones."
    if "sjc" in r:
        text += f"\nAgainst the labels: SJC {r['sjc']:.3f}, coverage {r['coverage']:.3f}, purity {r['purity']:.3f}."
    if r["surplus"]:
        text += f"\n{r['surplus']:,} left out, because their class has a subcluster already: K = {r['clusters']:,} is too large."
    if r["empty"]:
        text += f"\n{r['empty']:,} places are empty: nothing was found for them."
    if r["state"] == "waiting":
        text += f"\n{r['pending']:,} questions wait for people: see `cccount answers export --help`."
    return f"{text}\n{r['file']}"


def browsed(r: Report) -> str:
    lines = [f"Most like subcluster {n['subcluster'] + 1} ({n['id']}, similarity {n['similarity']:.3f})" for n in r["nearest"]]
    return "\n".join([*lines, r["file"]])


def advanced(r: Report) -> str:
    return subclustered(r) if "subclusters" in r else grouped(r) if "clusters" in r else counted(r)


def standing(r: Report) -> str:
    if not r["campaigns"]:
        return "No campaign yet. Start one with: cccount count WORKSPACE"
    lines = [f"{'campaign':<20} {'method':<10} {'state':<8} {'answers':>8} {'pending':>8} {'contradictions':>14}  result"]
    for c in r["campaigns"]:
        numbers = f"{c['questions']:>8,} {c['pending']:>8,} {c['contradictions']:>14,}"
        lines.append(f"{c['campaign']:<20} {c['method']:<10} {c['state']:<8} {numbers}  {_interval(c['result'])}")
    return "\n".join(lines)


def _interval(result: Report | None) -> str:
    if result is None:
        return ""
    if "subclusters" in result:
        return f"{result['subclusters']:,} subclusters"
    if "clusters" in result:
        return f"{result['clusters']:,} groups"
    ends = f"[{result['low']:,.1f}, {result['high']:,.1f}]"
    return ends if result["estimate"] is None else f"{result['estimate']:,.1f} {ends}"


def compared(r: Report) -> str:
    lines = [f"{r['items']:,} items; without asking anybody there seem to be:"]
    for row in r["counts"]:
        accuracy = f"  (k-means with it: accuracy {row['accuracy']:.3f})" if "accuracy" in row else ""
        lines.append(f"{row['clusters']:>9,}  {row['method']}{accuracy}")
    return "\n".join(lines)


def benchmarked(r: Report) -> str:
    return "\n".join([f"{r['runs']:,} runs each; finished ones are in {r['results']}.", "", *r["table"]])


def exported(r: Report) -> str:
    todo = "Fill in `value` (same, different, unsure; a rating: a number from 0 to 1) and import the file."
    if "config" in r:
        todo = f"Its labelling config is {r['config']}; import what it exports as JSON."
    return f"{r['file']}: {r['answered']:,} answers, {r['pending']:,} open questions. {todo}"


def packed(r: Report) -> str:
    size = f"{r['bytes'] / 1e6:,.1f} MB"
    following = f"cccount answers import {r['workspace']} --campaign {r['campaign']} --file ANSWERS.json"
    return f"{r['file']}: {r['questions']:,} questions on {r['sheets']:,} sheets, {size}. Its answers come back with: {following}"


def imported(r: Report) -> str:
    text = f"{r['answers']:,} answers read, {r['recorded']:,} of them new. `cccount advance` takes them in."
    return "\n".join([text, *_rejected(r)])


def gold_imported(r: Report) -> str:
    return "\n".join([f"{r['read']:,} gold pairs read, {r['gold']:,} in all.", *_rejected(r)])


def _rejected(r: Report) -> list[str]:
    return [f"{r['file']}, line {row['line']}: {row['reason']}" for row in r["rejected"]]


def annotator_added(r: Report) -> str:
    return f"The token of {r['annotator']}, which is shown only now: {r['token']}"


def reported(r: Report) -> str:
    return "\n".join(r["files"]) or "No campaign yet: nothing to report."


def verified(r: Report) -> str:
    if r["ok"]:
        return "Everything is sound."
    return "\n".join(f"{p['path']}: {p['problem']}\n    repair: {p['repair']}" for p in r["problems"])


def examined(r: Report) -> str:
    marks = {(True, True): "ok", (True, False): "ok", (False, True): "FAILED", (False, False): "no"}
    return "\n".join(f"{marks[c['ok'], c['needed']]:<7} {c['check']}: {c['detail']}" for c in r["checks"])
