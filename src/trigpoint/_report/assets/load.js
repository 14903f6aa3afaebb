// The data of the page: facts as JSON, followed by the arrays that the facts refer to.

const { facts, bytes } = await unpacked(byId("data").textContent);

async function unpacked(base64) {
  const text = atob(base64);
  const packed = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) packed[at] = text.charCodeAt(at);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const data = new Uint8Array(await new Response(stream).arrayBuffer());
  const end = 4 + new DataView(data.buffer).getUint32(0, true);
  return { facts: JSON.parse(new TextDecoder().decode(data.subarray(4, end))), bytes: data.subarray(end) };
}
