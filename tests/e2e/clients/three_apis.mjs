// A router in front of one server, which speaks another API for each of its models: messages for "claude", responses for "gpt"
// and chat completions for "chats".

export const configuration = (upstream) => (port, managementPort) => `
version: v0.3
listeners:
  - {name: test, address: 127.0.0.1, port: ${port}, timeout: 60s}
providers:
  defaults: {default_model: chats}
  models:
    - {name: claude, api_format: anthropic, backend_refs: [{name: claude, endpoint: "127.0.0.1:${upstream}"}]}
    - {name: gpt, responses_api: true, backend_refs: [{name: gpt, endpoint: "127.0.0.1:${upstream}"}]}
    - {name: chats, backend_refs: [{name: chats, endpoint: "127.0.0.1:${upstream}"}]}
global:
  services:
    management_api: {bind_address: 127.0.0.1, port: ${managementPort}}
`;
