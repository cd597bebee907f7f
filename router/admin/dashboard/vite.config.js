// Three files with fixed names, which router/admin/dashboard/CMakeLists.txt compiles in; the same sources make the same bytes.

import { defineConfig } from "vite";

export default defineConfig({
  esbuild: { jsx: "automatic", jsxImportSource: "preact", legalComments: "none" },
  build: {
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    rollupOptions: { output: { entryFileNames: "app.js", assetFileNames: "app.[ext]", inlineDynamicImports: true } },
  },
  // `npx vite` serves the sources for who works on them, over a daemon on its usual port.
  server: {
    // Not as a mere text, with which the Host would be changed: the router takes changes from pages of its own port.
    proxy: Object.fromEntries(["/api", "/config", "/info", "/v1", "/ready"].map((path) => [path, { target: "http://127.0.0.1:8080" }])),
  },
});
