// Our own pages under the globals that MiniWoB++ pages have: enough to test the adapter without the official ones.
var core = { EPISODE_MAX_TIME: 10000, cover_div: null };
var WOB_DONE_GLOBAL = false, WOB_RAW_REWARD_GLOBAL = 0, WOB_TASK_READY = true, WOB_DATA_MODE = 'default';
Math.seedrandom = text => {
  let h = 7;
  for (const c of String(text)) h = Math.imul(h ^ c.charCodeAt(0), 16777619) >>> 0;
  Math.random = () => (h = (Math.imul(h, 1664525) + 1013904223) >>> 0) / 4294967296;
};
core.pick = list => list[Math.floor(Math.random() * list.length)];
core.setDataMode = mode => { WOB_DATA_MODE = mode; };
core.getUtterance = () => document.getElementById('query').textContent;
core.startEpisode = () => {
  core.cover_div = core.cover_div || document.body.appendChild(document.createElement('div'));
  core.cover_div.id = 'sync-task-cover';
  core.cover_div.textContent = 'START';
  core.cover_div.style.cssText = 'display: block; position: absolute; left: 0; top: 0; width: 160px; height: 210px; z-index: 9999; background: #222';
};
core.startEpisodeReal = () => {
  genProblem();
  WOB_DONE_GLOBAL = false;
  WOB_RAW_REWARD_GLOBAL = 0;
  core.cover_div.style.display = 'none';
  core.timer = setTimeout(() => core.endEpisode(-1), core.EPISODE_MAX_TIME);
};
core.endEpisode = raw => {
  if (core.timer === null) return;
  clearTimeout(core.timer);
  core.timer = null;
  WOB_DONE_GLOBAL = true;
  WOB_RAW_REWARD_GLOBAL = raw;
  core.startEpisode();
};
document.addEventListener('DOMContentLoaded', () => {
  const style = document.head.appendChild(document.createElement('style'));
  style.textContent = 'body { margin: 0; font: 10px sans-serif } #wrap { width: 160px; height: 210px } #query { height: 50px; background: gold } #area { position: relative }';
});
window.onload = () => core.startEpisode();
