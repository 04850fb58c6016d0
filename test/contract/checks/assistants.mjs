import assert from "node:assert/strict";
import { assistant, refused } from "../world.mjs";

const keys = ["assistant_id", "graph_id", "name", "config", "metadata", "created_at", "updated_at", "version"];

export const assistants = [
  {
    n: 1, title: "assistants.search finds the lead agent with all its keys",
    async run({ client }) {
      const found = (await client.assistants.search()).find((a) => a.assistant_id === assistant);
      assert.ok(found, "no lead_agent");
      for (const key of keys) assert.ok(key in found, key);
      assert.ok(!Number.isNaN(Date.parse(found.created_at)), found.created_at);
      assert.deepEqual(await client.assistants.search({ graphId: "other" }), []);
    },
  },
  {
    n: 2, title: "assistants.search pages",
    async run({ client }) {
      const all = await client.assistants.search({ limit: 100 });
      const page = await client.assistants.search({ limit: 1, offset: 1 });
      assert.deepEqual(page, all.slice(1, 2));
    },
  },
  {
    n: 3, title: "assistants.get of an unknown one is a 404 with a detail",
    async run({ client }) {
      const error = await refused(client.assistants.get("nobody"), 404);
      assert.match(error.message, /"detail":"Assistant nobody not found"/);
      assert.equal((await client.assistants.get(assistant)).graph_id, assistant);
    },
  },
  {
    n: 4, title: "assistants.getGraph and getSchemas answer",
    async run({ client }) {
      const graph = await client.assistants.getGraph(assistant);
      const ids = graph.nodes.map((node) => node.id);
      for (const edge of graph.edges) assert.ok(ids.includes(edge.source) && ids.includes(edge.target));
      const schemas = await client.assistants.getSchemas(assistant);
      assert.equal(schemas.graph_id, assistant);
      assert.ok(schemas.state_schema.properties.messages);
      assert.deepEqual(await client.assistants.getSubgraphs(assistant), {});
    },
  },
  {
    n: 5, title: "/health, /ok and /info answer",
    async run(world) {
      assert.equal((await (await world.fetch("/health")).json()).status, "healthy");
      assert.deepEqual(await (await world.fetch("/ok")).json(), { ok: true });
      assert.equal((await (await world.fetch("/info")).json()).flags.assistants, true);
    },
  },
];
