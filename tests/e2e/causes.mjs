// Adds the cause of a failed fetch to its message: "fetch failed" alone does not explain the failure of a test.

const original = globalThis.fetch;
globalThis.fetch = async (...request) => {
  try {
    return await original(...request);
  } catch (error) {
    if (error.cause) error.message += ` (${error.cause.code ?? ""} ${error.cause.message})`;
    throw error;
  }
};
