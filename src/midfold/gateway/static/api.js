// The admin API. A key, where the gateway has one, stays in this tab.
const KEY = "midfold-key";
let token = null;

export class Refused extends Error {
  constructor(status, words) {
    super(words);
    this.status = status;
  }
}

const headers = () => {
  const key = sessionStorage.getItem(KEY);
  return key ? { "x-midfold-key": key } : {};
};
export const keepKey = (key) => sessionStorage.setItem(KEY, key);

async function ask(path, options = {}) {
  let answer;
  try {
    answer = await fetch(`/admin/api${path}`, { ...options, headers: { ...headers(), ...options.headers } });
  } catch {
    throw new Refused(0, "The gateway does not answer.");
  }
  const value = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(answer.status, value.error ?? `The gateway answered ${answer.status}.`);
  return value;
}

export const get = (path) => ask(path);

export async function change(method, path, body) {
  token ??= (await ask("/token")).token;
  const send = () => ask(path, {
    method, body: JSON.stringify(body), headers: { "content-type": "application/json", "x-midfold-token": token },
  });
  try {
    return await send();
  } catch (error) {
    if (error.status !== 403) throw error;
    token = (await ask("/token")).token; // the gateway was started anew
    return send();
  }
}

export async function* events(signal) {
  const answer = await fetch("/admin/api/events", { headers: headers(), signal });
  if (!answer.ok) throw new Refused(answer.status, "Live events are not to be had.");
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    held += value;
    const whole = held.split("\n\n");
    held = whole.pop();
    for (const event of whole) {
      const data = event.split("\n").find((line) => line.startsWith("data: "));
      if (data) yield JSON.parse(data.slice(6));
    }
  }
}
