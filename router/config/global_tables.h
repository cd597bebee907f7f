#pragma once
// The parts of `global`, each a file of tables.

#include "router/config/section.h"

namespace signalbox::config {

const Section<Config>& router_section();    // router_settings.cc
const Section<Config>& services_section();  // services.cc
const Section<Config>& stores_section();    // stores.cc
const Section<Config>& catalog_section();   // catalog.cc
const Section<Modules>& modules_section();  // modules.cc

// prototypes, in catalog.cc
const Section<PrototypeScoring>& prototype_scoring_section();

// servers.cc
const Section<Redis>& redis_section();
const Section<Postgres>& postgres_section();
const Section<Qdrant>& qdrant_section();
const Section<Valkey>& valkey_section();
const Section<MilvusAddress>& milvus_address_section();
const Section<Milvus>& milvus_section();  // milvus.cc

}  // namespace signalbox::config
