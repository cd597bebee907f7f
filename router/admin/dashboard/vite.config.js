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
  // `npx vite` serves the sources to developers, in front of a daemon on its usual port.
  server: {
    // An object, because a plain string would change the Host header, and the router accepts changes only from pages of
    // its own port.
    proxy: Object.fromEntries(["/api", "/config", "/info", "/v1", "/ready"].map((path) => [path, { target: "http://127.0.0.1:8080" }])),
  },
});
