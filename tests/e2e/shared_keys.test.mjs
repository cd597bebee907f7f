// Tests the keys that two routers share over a real Redis.

import { Redis } from "./redis.mjs";
import { testSharedKeys } from "./shared_keys.mjs";

testSharedKeys(Redis);
